import { SqlClient } from "@effect/sql"
import { Clock, Effect, Exit, Option } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { LeaseLost, type Term } from "../Repo.ts"
import { makeBatch } from "./Batch.ts"
import { bounded, channel } from "./Database.ts"
import { oneOf } from "./RunColumns.ts"

/**
 * The part of the SQL `Repo` that keeps the dispatcher's lease, and what only its holder may do. What the holder does
 * locks the lease's row against a successor: who takes the lease sees all that the one before has done, and the one
 * before does nothing more.
 */
export const makeLease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const acquireLease = Effect.fn("Repo.acquireLease")(function* (holder: string, ttl_ms: number) {
    const [row] = yield* sql<{ readonly term: Term }>`
      update webhook_trigger.dispatcher_lease set
        term = term + 1, holder = ${holder}, expires_at = clock_timestamp() + ${ttl_ms} * interval '1 millisecond'
      where holder is null or expires_at <= clock_timestamp()
      returning term::float8 as term`
    return Option.map(Option.fromNullable(row), ({ term }) => term)
  }, bounded)

  const renewLease = Effect.fn("Repo.renewLease")(function* (term: Term, ttl_ms: number) {
    const rows = yield* sql`
      update webhook_trigger.dispatcher_lease set
        expires_at = clock_timestamp() + ${ttl_ms} * interval '1 millisecond'
      where term = ${term} and holder is not null
      returning 1`
    if (rows.length === 0) return yield* Effect.fail(new LeaseLost())
  }, bounded)

  const releaseLease = Effect.fn("Repo.releaseLease")(function* (term: Term) {
    yield* sql`
      with freed as (
        update webhook_trigger.dispatcher_lease set holder = null, expires_at = null
        where term = ${term} and holder is not null
        returning 1
      )
      select pg_notify(${channel}, 'LeaseReleased') from freed`
  }, bounded)

  const held = (term: Term) => sql`
    lease as materialized (
      select 1 from webhook_trigger.dispatcher_lease where term = ${term} and holder is not null for share
    )`

  const admitAll = Effect.fn("Repo.admit")(function* (term: Term, ids: ReadonlyArray<RunId>) {
    const now = new Date(yield* Clock.currentTimeMillis)
    const rows = yield* bounded(sql<{ readonly id: RunId | null }>`
      with ${held(term)}, locked as materialized (
        select r.id from webhook_trigger.runs r
        where r.id in ${oneOf(sql, ids)} and r.status = 'queued' and exists (select from lease)
        order by r.id for no key update
      ), admitted as (
        update webhook_trigger.runs r set admitted_at = coalesce(r.admitted_at, ${now}::timestamptz)
        from locked where r.id = locked.id and r.status = 'queued'
        returning r.id
      )
      select admitted.id from lease left join admitted on true`)
    return rows.length === 0 ? Option.none() : Option.some(new Set(rows.map((row) => row.id)))
  })

  // Several lanes share a statement, but what one lane admits at once is never split: a part of it would be out of order.
  const admit = yield* makeBatch({
    size: 100,
    run: Effect.fnUntraced(function* (
      items: ReadonlyArray<{ readonly ids: ReadonlyArray<RunId>; readonly term: Term }>
    ) {
      const admitted = new Map<Term, Option.Option<ReadonlySet<RunId | null>>>()
      for (const term of new Set(items.map((item) => item.term))) {
        const ids = items.flatMap((item) => (item.term === term ? item.ids : []))
        admitted.set(term, yield* admitAll(term, ids))
      }
      return items.map(
        ({ ids, term }): Exit.Exit<ReadonlySet<RunId>, LeaseLost> =>
          Option.match(admitted.get(term) ?? Option.none(), {
            onNone: () => Exit.fail(new LeaseLost()),
            onSome: (all) => Exit.succeed(new Set(ids.filter((id) => all.has(id))))
          })
      )
    })
  })

  return {
    acquireLease,
    renewLease,
    releaseLease,
    admit: (ids: ReadonlyArray<RunId>, term: Term) => admit({ ids, term })
  }
})
