import type { SqlClient, Statement } from "@effect/sql"
import { DateTime } from "effect"

/** How far apart the clocks of servers, and a run's id and the writing of its row, may be. Milliseconds. */
export const slack = 60_000

/** As many runs as may have been written in another order than their ids were generated in, at one moment. */
const shuffled = 200

/** The least UUIDv7 of a moment (RFC 9562, 5.7): its first 48 bits are milliseconds. */
export const leastId = (millis: number): string => {
  const hex = Math.max(0, millis).toString(16).padStart(12, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/**
 * So that the planner does not take it for another bound that leaves few rows: then it would read all of them and sort,
 * where it may read a page in order.
 */
const decides = (sql: SqlClient.SqlClient, comparison: ">=" | "<", time: DateTime.Utc): Statement.Fragment =>
  sql`r.accepted_at - ${DateTime.toDateUtc(time)}::timestamptz ${sql.literal(comparison)} interval '0'`

/**
 * Conditions for runs `r` accepted from `from` on and before `to`. Ids carry the time and have an index, so a place in time
 * is found without an index of its own, which every change of a run would have to update. The bounds of `seq` are a little
 * too wide; `accepted_at` then decides exactly.
 */
export const acceptedBetween = (
  sql: SqlClient.SqlClient,
  { from, to }: { readonly from?: DateTime.Utc; readonly to?: DateTime.Utc }
): ReadonlyArray<Statement.Fragment> => [
  ...(from === undefined
    ? []
    : [
        decides(sql, ">=", from),
        sql`r.seq >= (
          select min(near.seq) from (
            select seq from webhook_trigger.runs where id >= ${leastId(from.epochMillis - slack)}::uuid
            order by id limit ${shuffled}
          ) as near)`
      ]),
  ...(to === undefined
    ? []
    : [
        decides(sql, "<", to),
        sql`r.seq <= (
          select max(near.seq) from (
            select seq from webhook_trigger.runs where id < ${leastId(to.epochMillis + slack)}::uuid
            order by id desc limit ${shuffled}
          ) as near)`
      ])
]

/** The same for runs that are read in the order of their ids. */
export const acceptedBetweenInOrder = (
  sql: SqlClient.SqlClient,
  { from, to }: { readonly from?: DateTime.Utc; readonly to?: DateTime.Utc }
): ReadonlyArray<Statement.Fragment> => [
  ...(from === undefined ? [] : [decides(sql, ">=", from), sql`r.id >= ${leastId(from.epochMillis - slack)}::uuid`]),
  ...(to === undefined ? [] : [decides(sql, "<", to), sql`r.id < ${leastId(to.epochMillis + slack)}::uuid`])
]
