/** Conditions on the teams that rows belong to. */
import type { SqlClient, Statement } from "effect/sql"
import type { TeamName } from "../../domain/Team.ts"

export type Teams = ReadonlyArray<TeamName> | undefined

/** Whether a column is the name of one of these teams. The names are one value, and need no escapes. */
export const isTeamOf = (sql: SqlClient.SqlClient, column: string, teams: Teams): Statement.Fragment =>
  teams === undefined ? sql`true` : sql`${sql.literal(column)} = any(${`{${teams.join(",")}}`}::text[])`

/** Whether what began then belongs to the team of its name, and not to a deleted one that had the name before. */
export const isOfCurrentTeam = (sql: SqlClient.SqlClient, row: string, began: string): Statement.Fragment =>
  sql`not exists (
    select from webhook_trigger.teams own
    where own.team = ${sql.literal(`${row}.team`)} and own.created_at > ${sql.literal(`${row}.${began}`)}
  )`

/** Whether a run, a row of that name, belongs to these teams alone. */
export const isRunOf = (sql: SqlClient.SqlClient, row: string, teams: Teams): Statement.Fragment =>
  teams === undefined
    ? sql`true`
    : sql`(${isTeamOf(sql, `${row}.team`, teams)} and ${isOfCurrentTeam(sql, row, "accepted_at")} and (${sql.literal(row)}.webhook_id is null or ${sql.literal(row)}.webhook_id in (
    select id from webhook_trigger.webhooks where ${isTeamOf(sql, "team", teams)}
  )))`
