import type { SqlClient, Statement } from "@effect/sql"

/** The fields of a `RunRow`, from `runs` as `r`. */
export const runColumns = (sql: SqlClient.SqlClient): Statement.Fragment =>
  sql.literal(`r.id, r.source, r.webhook_id, r.team, r.mode, r.status, r.prompt, r.variables, r.response, r.error_code,
    r.error_message, r.timeout_ms::float8 as timeout_ms, r.deadline_at, r.accepted_at, r.admitted_at, r.sent_at,
    r.started_at, r.finished_at`) as unknown as Statement.Fragment

/** Ids as one parameter: `where id in ${oneOf(sql, ids)}`. */
export const oneOf = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>): Statement.Fragment =>
  sql`(select value::uuid from json_array_elements_text(${JSON.stringify(ids)}::json))`
