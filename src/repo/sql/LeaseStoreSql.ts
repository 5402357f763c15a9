import { SqlClient, type Statement } from "@effect/sql"
import { Duration, Effect, Layer, Option } from "effect"
import { LeaseLost, LeaseStore, type Term } from "../LeaseStore.ts"
import { notify } from "./Changes.ts"
import { bounded } from "./Database.ts"

/**
 * A row when the term is the dispatcher's. Locks the lease against a successor until the commit: whoever acquires the lease
 * sees everything that was admitted in the term before, and nothing more is admitted in that one.
 */
export const heldBy = (sql: SqlClient.SqlClient, term: Term | Statement.Fragment): Statement.Fragment =>
  sql`select 1 from webhook_trigger.dispatcher_lease where term = ${term} and holder is not null for share`

export const layer: Layer.Layer<LeaseStore, never, SqlClient.SqlClient> = Layer.effect(
  LeaseStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** By the database's clock, which is the same for all. */
    const endOf = (time: Duration.Duration, start = sql`clock_timestamp()`) =>
      sql`${start} + ${Duration.toMillis(time)} * interval '1 millisecond'`

    const acquireLease = Effect.fn("LeaseStore.acquireLease")(function* (
      holder: string,
      life: Duration.Duration,
      overdue = Duration.zero
    ) {
      const [row] = yield* sql<{ readonly term: Term }>`
        update webhook_trigger.dispatcher_lease set term = term + 1, holder = ${holder}, expires_at = ${endOf(life)}
        where holder is null or holder = ${holder} or ${endOf(overdue, sql`expires_at`)} <= clock_timestamp()
        returning term::float8 as term`
      return Option.map(Option.fromNullable(row), ({ term }) => term)
    }, bounded)

    const renewLease = Effect.fn("LeaseStore.renewLease")(function* (term: Term, life: Duration.Duration) {
      const rows = yield* sql`
        update webhook_trigger.dispatcher_lease set expires_at = ${endOf(life)}
        where term = ${term} and holder is not null
        returning 1`
      if (rows.length === 0) return yield* new LeaseLost()
    }, bounded)

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

    return LeaseStore.of({ acquireLease, renewLease, nextTerm, offerLease, releaseLease })
  })
)
