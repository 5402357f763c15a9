import { SqlClient, type Statement } from "@effect/sql"
import { Effect, Layer } from "effect"
import type { RunId, WebhookId } from "../../../domain/Id.ts"
import type { TeamName } from "../../../domain/Team.ts"
import { type Owned, OwnerStore } from "../../access/OwnerStore.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** As one value, whatever their number. Names of teams need no escapes. */
export const teamNames = (sql: SqlClient.SqlClient, teams: ReadonlyArray<TeamName>) =>
  sql`${`{${teams.join(",")}}`}::text[]`

/** Whether a run, a row of that name, belongs to these teams alone. */
export const isRunOf = (sql: SqlClient.SqlClient, row: string, teams: ReadonlyArray<TeamName>): Statement.Fragment => {
  const [names, run] = [teamNames(sql, teams), sql.literal(row)]
  return sql`(${run}.team = any(${names}) and (${run}.webhook_id is null or ${run}.webhook_id in (
    select id from webhook_trigger.webhooks where team = any(${names})
  )))`
}

export const layer: Layer.Layer<OwnerStore, never, SqlClient.SqlClient> = Layer.effect(
  OwnerStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const found = (object: Owned, teams: ReadonlyArray<TeamName>) => {
      const names = teamNames(sql, teams)
      if ("run_id" in object) {
        return sql`select 1 from webhook_trigger.runs r where r.id = ${object.run_id} and ${isRunOf(sql, "r", teams)}`
      }
      return "webhook_id" in object
        ? sql`select 1 from webhook_trigger.webhooks where id = ${object.webhook_id} and team = any(${names})`
        : sql`select 1 from webhook_trigger.threads where id = ${object.thread_id} and team = any(${names})`
    }

    const isOwned = Effect.fn("OwnerStore.isOwned")(function* (object: Owned, teams: ReadonlyArray<TeamName>) {
      return (yield* found(object, teams)).length > 0
    }, bounded)

    const ownedRuns = Effect.fn("OwnerStore.ownedRuns")(function* (
      ids: ReadonlyArray<RunId>,
      teams: ReadonlyArray<TeamName>
    ) {
      const rows = yield* sql<{ readonly id: RunId }>`
        select r.id from webhook_trigger.runs r where r.id = any(${uuids(sql, ids)}) and ${isRunOf(sql, "r", teams)}`
      return new Set(rows.map(({ id }) => id))
    }, bounded)

    const teamsOf = Effect.fn("OwnerStore.teamsOf")(function* (ids: ReadonlyArray<WebhookId>) {
      const rows = yield* sql<{ readonly id: WebhookId; readonly team: TeamName }>`
        select id, team from webhook_trigger.webhooks where id = any(${uuids(sql, ids)})`
      return new Map(rows.map(({ id, team }) => [id, team]))
    }, bounded)

    return OwnerStore.of({ isOwned, ownedRuns, teamsOf })
  })
)
