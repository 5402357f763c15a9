import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { PromptLayout } from "../domain/prompt/PromptLayout.ts"
import type { RunRow } from "../domain/run/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { LeaseLost, Term } from "./LeaseStore.ts"
import type { RunMark } from "./RunStore.ts"

/** A run as the dispatcher sees it. */
export interface LaneRun
  extends Pick<
    RunRow,
    "run_id" | "source" | "team" | "mode" | "status" | "prompt" | "timeout_ms" | "deadline_at" | "traceparent"
  > {
  /** What its prompt is made up of; absent for a chat message, and for a run of a release that did not know of it. */
  readonly layout?: PromptLayout
  /** As it is now, not as it was at acceptance; absent for a chat message. */
  readonly webhook?: { readonly id: WebhookId; readonly name: string; readonly max_concurrent?: number }
}

/** How many runs wait. */
export interface Queued {
  readonly all: number
  /** Absent in the map: none. */
  readonly webhooks: ReadonlyMap<WebhookId, number>
}

/** What is to be sent, and what is under way: for the dispatcher. */
export class LaneStore extends Context.Tag("webhook-trigger/LaneStore")<
  LaneStore,
  {
    /** How many runs are queued and not admitted: over all teams, counted up to `most`, and of these webhooks. */
    readonly queued: (most: number, webhooks?: ReadonlyArray<WebhookId>) => Effect.Effect<Queued, Unavailable>
    /** Teams that are not paused and have a run in their lane. */
    readonly lanes: Effect.Effect<ReadonlyArray<TeamName>, Unavailable>
    /**
     * The next runs of a team's lane, in its order: queued and not admitted. None while the team is paused. A run whose window
     * is open (`NewRun.coalesce`) is not in the lane.
     */
    readonly lane: (team: TeamName, limit: number) => Effect.Effect<ReadonlyArray<LaneRun>, Unavailable>
    /**
     * Closes the windows that have ended. From then on no trigger joins their runs. The runs take their places: behind
     * every run accepted before this call began, before every run whose acceptance begins after it, and in the order in
     * which their windows ended.
     */
    readonly closeWindows: (now: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /**
     * Admitted and not finished, or `cancelled` and not released, in the order of the lanes: these hold slots. One that is `queued` may
     * or may not have reached the broker.
     */
    readonly inFlight: Effect.Effect<ReadonlyArray<LaneRun>, Unavailable>
    /**
     * Forgets that runs in flight were sent and started: each is `queued` and admitted again, and the clock of a
     * fire-and-forget run starts again. Cancelled ones, which are not sent again, are released.
     */
    readonly forgetSent: (at: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /**
     * Marks queued runs as about to be sent, all in one commit; doing so again changes nothing. `at` of each is when it got
     * its slots. From `now` on each has a deadline: a fire-and-forget run one timeout later, until it is known when it was
     * sent. Returns those that may be sent: the others are no longer queued, were deleted, or their team is paused. Fails
     * with `LeaseLost` when `term` is no longer the dispatcher's.
     */
    readonly admit: (
      runs: ReadonlyArray<RunMark>,
      term: Term,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlySet<RunId>, LeaseLost | Unavailable>
    /** The webhooks' own limits as they are now; absent in the map: none of its own, or no such webhook. */
    readonly limits: (ids: ReadonlyArray<WebhookId>) => Effect.Effect<ReadonlyMap<WebhookId, number>, Unavailable>
  }
>() {}
