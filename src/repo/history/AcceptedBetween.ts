import { DateTime } from "effect"
import type { SqlClient, Statement } from "effect/sql"

/** Maximum difference between servers' clocks, and between a run's ID and the writing of its row, in milliseconds. */
export const slack = 60_000

/** How many runs may be written at one moment in another order than that of their IDs. */
const shuffled = 200

/** The lowest UUIDv7 of a moment (RFC 9562, 5.7): its first 48 bits are milliseconds. */
export const leastId = (millis: number): string => {
  const hex = Math.max(0, millis).toString(16).padStart(12, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/**
 * Hidden from the planner, which would expect few rows from this bound: it would read all of them and sort, instead of
 * reading a page in order.
 */
const decides = (sql: SqlClient.SqlClient, comparison: ">=" | "<", time: DateTime.Utc): Statement.Fragment =>
  sql`r.accepted_at - ${DateTime.toDateUtc(time)}::timestamptz ${sql.literal(comparison)} interval '0'`

/**
 * Conditions for runs `r` accepted from `from` on and before `to`. IDs contain the time and have an index, so no
 * further index is needed, which every change of a run would have to update. The bounds of `seq` are a little too wide;
 * `accepted_at` decides exactly.
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
            select seq from webhook_trigger.runs where id >= ${leastId(from.epochMilliseconds - slack)}::uuid
            order by id limit ${shuffled}
          ) as near)`
      ]),
  ...(to === undefined
    ? []
    : [
        decides(sql, "<", to),
        sql`r.seq <= (
          select max(near.seq) from (
            select seq from webhook_trigger.runs where id < ${leastId(to.epochMilliseconds + slack)}::uuid
            order by id desc limit ${shuffled}
          ) as near)`
      ])
]

/** The same for runs that are read in the order of their ids. */
export const acceptedBetweenInOrder = (
  sql: SqlClient.SqlClient,
  { from, to }: { readonly from?: DateTime.Utc; readonly to?: DateTime.Utc }
): ReadonlyArray<Statement.Fragment> => [
  ...(from === undefined
    ? []
    : [decides(sql, ">=", from), sql`r.id >= ${leastId(from.epochMilliseconds - slack)}::uuid`]),
  ...(to === undefined ? [] : [decides(sql, "<", to), sql`r.id < ${leastId(to.epochMilliseconds + slack)}::uuid`])
]
