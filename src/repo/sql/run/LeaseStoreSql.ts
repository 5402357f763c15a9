import { SqlClient, type Statement } from "@effect/sql"
import { Duration, Effect, Layer, Option } from "effect"
import { LeaseLost, LeaseStore, type ProcessLock, type Term } from "../../run/LeaseStore.ts"
import { notify } from "../Changes.ts"
import { bounded } from "../database/Database.ts"
import { isFree, SessionLocks } from "../database/SessionLocks.ts"

/**
 * A row if the term is the dispatcher's. Locks the lease against a successor until the commit. So the next holder sees
 * everything that was admitted in the previous term, and nothing more is admitted in that one.
 */
export const heldBy = (sql: SqlClient.SqlClient, term: Term): Statement.Fragment =>
  sql`select 1 from webhook_trigger.dispatcher_lease where term = ${term} and holder is not null for share`

export const layer: Layer.Layer<LeaseStore, never, SqlClient.SqlClient> = Layer.effect(
  LeaseStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** By the database's clock, which is the same for all. */
    const endOf = (time: Duration.Duration, start = sql`clock_timestamp()`) =>
      sql`${start} + ${Duration.toMillis(time)} * interval '1 millisecond'`

    const locks = yield* Effect.serviceOption(SessionLocks)
    /** A database server that was restarted since then has lost its locks, and the holder may be alive. */
    const lockIsGone = sql`lock_id is not null and locked_on = pg_postmaster_start_time() and ${isFree(sql, sql`lock_id`)}`

    const acquireLease = Effect.fn("LeaseStore.acquireLease")(function* (
      holder: string,
      life: Duration.Duration,
      overdue?: Duration.Duration
    ) {
      const [row] = yield* sql<{ readonly term: Term }>`
        update webhook_trigger.dispatcher_lease
        set term = term + 1, holder = ${holder}, expires_at = ${endOf(life)}, lock_id = null, locked_on = null
        where holder is null or holder = ${holder}
          or ${endOf(overdue ?? Duration.zero, sql`expires_at`)} <= clock_timestamp()
          or ${overdue === undefined ? lockIsGone : sql`false`}
        returning term::float8 as term`
      return Option.map(Option.fromNullable(row), ({ term }) => term)
    }, bounded)

    const renewLease = Effect.fn("LeaseStore.renewLease")(function* (
      term: Term,
      life: Duration.Duration,
      lock?: ProcessLock
    ) {
      const id = lock?.isHeld() ? lock.id : null
      const rows = yield* sql`
        with relaxed as materialized (select set_config('synchronous_commit', 'off', true))
        update webhook_trigger.dispatcher_lease set
          expires_at = ${endOf(life)}, lock_id = ${id}::integer,
          locked_on = case when ${id}::integer is not null then pg_postmaster_start_time() end
        from relaxed where term = ${term} and holder is not null
        returning 1`
      if (rows.length === 0) return yield* new LeaseLost()
    }, bounded)

    const lockForProcess = (term: Term) => {
      const id = term % 2 ** 31
      return Option.match(locks, {
        onNone: () => Effect.succeed({ id, isHeld: () => false }),
        onSome: ({ hold }) => Effect.map(hold(id), (isHeld) => ({ id, isHeld }))
      })
    }

    const nextTerm = Effect.fn("LeaseStore.nextTerm")(function* (term: Term) {
      const [row] = yield* sql<{ readonly term: Term }>`
        update webhook_trigger.dispatcher_lease set term = term + 1
        where term = ${term} and holder is not null
        returning term::float8 as term`
      return row === undefined ? yield* new LeaseLost() : row.term
    }, bounded)

    const offerLease = Effect.fn("LeaseStore.offerLease")(function* (term: Term) {
      const [row] = yield* sql<{ readonly offered: number }>`
        with offered as (
          update webhook_trigger.dispatcher_lease set expires_at = clock_timestamp()
          where term = ${term} and holder is not null
          returning 1
        ), ${notify(sql, "LeaseReleased", sql`select '' as name from offered`)}
        select (select count(*) from offered)::int as offered, (select count(*) from notified)`
      if (row?.offered !== 1) return yield* new LeaseLost()
    }, bounded)

    const releaseLease = Effect.fn("LeaseStore.releaseLease")(function* (term: Term) {
      yield* sql`
        with released as (
          update webhook_trigger.dispatcher_lease set holder = null, expires_at = null
          where term = ${term} and holder is not null
          returning 1
        ), ${notify(sql, "LeaseReleased", sql`select '' as name from released`)}
        select count(*) from notified`
    }, bounded)

    return LeaseStore.of({ acquireLease, renewLease, lockForProcess, nextTerm, offerLease, releaseLease })
  })
)
