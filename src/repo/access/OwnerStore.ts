import { Context, type Effect } from "effect"
import type { GrantLimits } from "../../domain/access/Grant.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId, ThreadId, WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"

/** What belongs to a team. */
export type Owned = { readonly webhook_id: WebhookId } | { readonly run_id: RunId } | { readonly thread_id: ThreadId }

/**
 * Which teams things belong to. A run of a webhook belongs to the team that it was sent to, and to the webhook's current
 * team. So a webhook that was moved does not show the runs of its former team, and no replay goes from one team to another.
 */
export class OwnerStore extends Context.Service<
  OwnerStore,
  {
    /** Whether it exists, and is within the limits: of several teams' objects, all teams must be. */
    readonly isOwned: (object: Owned, limits: GrantLimits) => Effect.Effect<boolean, Unavailable>
    /** Those of these runs that exist, and are within the limits. */
    readonly ownedRuns: (
      ids: ReadonlyArray<RunId>,
      limits: GrantLimits
    ) => Effect.Effect<ReadonlySet<RunId>, Unavailable>
    /** Whether a webhook has had runs of other teams than these: it came from one, and its history is that team's, too. */
    readonly hasOthersRuns: (id: WebhookId, teams: ReadonlyArray<TeamName>) => Effect.Effect<boolean, Unavailable>
    /** The current teams of webhooks. Unknown webhooks are absent. */
    readonly teamsOf: (ids: ReadonlyArray<WebhookId>) => Effect.Effect<ReadonlyMap<WebhookId, TeamName>, Unavailable>
  }
>()("webhook-trigger/OwnerStore") {}
