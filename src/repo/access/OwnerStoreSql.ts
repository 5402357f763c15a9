import { Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { GrantLimits } from "../../domain/access/Grant.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { type Owned, OwnerStore } from "./OwnerStore.ts"

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

export const layer: Layer.Layer<OwnerStore, never, SqlClient.SqlClient> = Layer.effect(
  OwnerStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const ofRun = ({ teams, triggered_by }: GrantLimits) => [
      isRunOf(sql, "r", teams),
      ...(triggered_by === undefined ? [] : [sql`r.triggered_by = ${triggered_by}`])
    ]

    const found = (object: Owned, limits: GrantLimits) => {
      const { teams, triggered_by, webhooks } = limits
      if ("run_id" in object) {
        const conditions = [sql`r.id = ${object.run_id}`, ...ofRun(limits)]
        return sql`select 1 from webhook_trigger.runs r where ${sql.and(conditions)}`
      }
      if ("webhook_id" in object) {
        const named = webhooks === undefined ? [] : [sql`id = any(${uuids(sql, webhooks)})`]
        const conditions = [sql`id = ${object.webhook_id}`, isTeamOf(sql, "team", teams), ...named]
        return sql`select 1 from webhook_trigger.webhooks where ${sql.and(conditions)}`
      }
      const none = triggered_by === undefined ? [] : [sql`false`]
      const own = teams === undefined ? [] : [isTeamOf(sql, "t.team", teams), isOfCurrentTeam(sql, "t", "created_at")]
      const conditions = [sql`t.id = ${object.thread_id}`, ...own, ...none]
      return sql`select 1 from webhook_trigger.threads t where ${sql.and(conditions)}`
    }

    const isOwned = Effect.fn("OwnerStore.isOwned")(function* (object: Owned, limits: GrantLimits) {
      return (yield* found(object, limits)).length > 0
    }, bounded)

    const ownedRuns = Effect.fn("OwnerStore.ownedRuns")(function* (ids: ReadonlyArray<RunId>, limits: GrantLimits) {
      const conditions = [sql`r.id = any(${uuids(sql, ids)})`, ...ofRun(limits)]
      const rows = yield* sql<{ readonly id: RunId }>`
        select r.id from webhook_trigger.runs r where ${sql.and(conditions)}`
      return new Set(rows.map(({ id }) => id))
    }, bounded)

    const teamsOf = Effect.fn("OwnerStore.teamsOf")(function* (ids: ReadonlyArray<WebhookId>) {
      const rows = yield* sql<{ readonly id: WebhookId; readonly team: TeamName }>`
        select id, team from webhook_trigger.webhooks where id = any(${uuids(sql, ids)})`
      return new Map(rows.map(({ id, team }) => [id, team]))
    }, bounded)

    const hasOthersRuns = Effect.fn("OwnerStore.hasOthersRuns")(function* (
      id: WebhookId,
      teams: ReadonlyArray<TeamName>
    ) {
      const [row] = yield* sql`
        select 1 from webhook_trigger.webhooks w
        where w.id = ${id} and w.moved_at is not null and exists (
          select from webhook_trigger.runs r where r.webhook_id = w.id and not ${isTeamOf(sql, "r.team", teams)}
        )`
      return row !== undefined
    }, bounded)

    return OwnerStore.of({ isOwned, ownedRuns, teamsOf, hasOthersRuns })
  })
)
