import type { SqlClient, Statement } from "@effect/sql"

/**
 * Joins `good.seq` to each webhook `w`: the place of its last success in the order of acceptance, or 0. One step in an
 * index.
 */
export const lastSuccess = (sql: SqlClient.SqlClient): Statement.Fragment => sql`
  cross join lateral (
    select coalesce((
      select r.seq from webhook_trigger.runs r
      where r.webhook_id = w.id and r.status = 'success' order by r.seq desc limit 1
    ), 0) as seq
  ) as good`
