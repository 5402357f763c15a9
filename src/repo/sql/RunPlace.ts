import type { SqlClient, Statement } from "@effect/sql"

/** How far the clocks of servers, and the making of an id and the writing of its row, may lie apart. */
const slack = 60_000

/** As many runs as may have been written in another order than their ids were made in, at one moment. */
const shuffled = 200

/** The least UUIDv7 of a moment (RFC 9562, 5.7): its first 48 bits are milliseconds. */
const leastId = (millis: number): string => {
  const hex = Math.max(0, millis).toString(16).padStart(12, "0")
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/**
 * Bounds of `seq` for runs `r` accepted from `from` on and before `to`. Ids carry the time and have an index, so a place
 * in time is found without an index of its own, which every change of a run would have to keep. The bounds are a little
 * too wide; `accepted_at` then decides exactly.
 */
export const accepted = (
  sql: SqlClient.SqlClient,
  { from, to }: { readonly from?: Date | undefined; readonly to?: Date | undefined }
): ReadonlyArray<Statement.Fragment> => [
  ...(from === undefined
    ? []
    : [
        sql`r.accepted_at >= ${from}`,
        sql`r.seq >= (
          select min(near.seq) from (
            select seq from webhook_trigger.runs where id >= ${leastId(from.getTime() - slack)}::uuid
            order by id limit ${shuffled}
          ) as near)`
      ]),
  ...(to === undefined
    ? []
    : [
        sql`r.accepted_at < ${to}`,
        sql`r.seq <= (
          select max(near.seq) from (
            select seq from webhook_trigger.runs where id < ${leastId(to.getTime() + slack)}::uuid
            order by id desc limit ${shuffled}
          ) as near)`
      ])
]
