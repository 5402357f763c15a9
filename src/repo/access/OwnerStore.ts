import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { GrantLimits } from "../../domain/access/Grant.ts"
import type { RunId, ThreadId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { isOfCurrentTeam, isRunOf, isTeamOf } from "./Ownership.ts"

/** A thing that belongs to a team. */
export type Owned = { readonly webhook_id: WebhookId } | { readonly run_id: RunId } | { readonly thread_id: ThreadId }

/**
 * The teams that own things. A run of a webhook belongs to the team that it was sent to, and to the webhook's current
 * team. So a webhook that was moved does not show the runs of its former team, and no replay goes from one team to another.
 */
export class OwnerStore extends Context.Service<OwnerStore>()("webhook-trigger/OwnerStore", {
  make: Effect.gen(function* () {
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

    /** Whether it exists, and is within the limits: of several teams' objects, all teams must be. */
    const isOwned = Effect.fn("OwnerStore.isOwned")(function* (object: Owned, limits: GrantLimits) {
      return (yield* found(object, limits)).length > 0
    }, bounded)

    /** The runs among these that exist and are within the limits. */
    const ownedRuns = Effect.fn("OwnerStore.ownedRuns")(function* (ids: ReadonlyArray<RunId>, limits: GrantLimits) {
      const conditions = [sql`r.id = any(${uuids(sql, ids)})`, ...ofRun(limits)]
      const rows = yield* sql<{ readonly id: RunId }>`
        select r.id from webhook_trigger.runs r where ${sql.and(conditions)}`
      return new Set(rows.map(({ id }) => id))
    }, bounded)

    /** The current teams of webhooks. Unknown webhooks are absent. */
    const teamsOf = Effect.fn("OwnerStore.teamsOf")(function* (ids: ReadonlyArray<WebhookId>) {
      const rows = yield* sql<{ readonly id: WebhookId; readonly team: TeamName }>`
        select id, team from webhook_trigger.webhooks where id = any(${uuids(sql, ids)})`
      return new Map(rows.map(({ id, team }) => [id, team]))
    }, bounded)

    /** Whether a webhook has had runs of other teams than these: it came from one, and its history is that team's, too. */
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

    return { isOwned, ownedRuns, teamsOf, hasOthersRuns }
  })
}) {
  static readonly layer = Layer.effect(OwnerStore, OwnerStore.make)
}
