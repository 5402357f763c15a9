import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId, ThreadId, WebhookId } from "../../domain/Id.ts"
import type { PromptLayout } from "../../domain/prompt/PromptLayout.ts"
import type { SessionUsage } from "../../domain/run/AgentReport.ts"
import type { RunRow } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { LeaseLost, Term } from "./LeaseStore.ts"
import type { RunEvent } from "./RunEnd.ts"

/** A run as the dispatcher sees it. */
export interface LaneRun
  extends Pick<
    RunRow,
    | "run_id"
    | "source"
    | "team"
    | "mode"
    | "status"
    | "prompt"
    | "timeout_ms"
    | "deadline_at"
    | "stop_at"
    | "traceparent"
    | "thread_key"
    | "accepted_at"
  > {
  /** The parts of its prompt; absent for a chat message, and for runs of a release without layouts. */
  readonly layout?: PromptLayout
  /** The current name, not that at acceptance; absent for a chat message. */
  readonly webhook?: {
    readonly id: WebhookId
    readonly name: string
    readonly max_concurrent?: number
    /** Its budget of cost; absent also for a replay by a person, to which it does not apply. */
    readonly max_cost_per_day?: number
  }
}

/** The thread of a run, and the agent's session as the newest ended run of the thread reported it. */
export interface LaneThread {
  readonly id: ThreadId
  readonly session_id?: string
  /** As the same run reported it. */
  readonly session_usage?: SessionUsage
}

/** The number of waiting runs. */
export interface Queued {
  readonly all: number
  /** Webhooks without waiting runs are absent. */
  readonly webhooks: ReadonlyMap<WebhookId, number>
}

/** The runs to send and in flight, for the dispatcher. */
export class LaneStore extends Context.Tag("webhook-trigger/LaneStore")<
  LaneStore,
  {
    /** The number of queued runs that are not admitted: over all teams, counted up to `most`, and of these webhooks. */
    readonly queued: (most: number, webhooks?: ReadonlyArray<WebhookId>) => Effect.Effect<Queued, Unavailable>
    /** Teams that are not paused and have a run in their lane. */
    readonly lanes: Effect.Effect<ReadonlyArray<TeamName>, Unavailable>
    /**
     * The next runs of a team's lane, in order: queued and not admitted. None while the team is paused. A run whose
     * window is open (`NewRun.coalesce`) is not in the lane.
     */
    readonly lane: (team: TeamName, limit: number) => Effect.Effect<ReadonlyArray<LaneRun>, Unavailable>
    /**
     * Closes the windows that have ended. From then on, no trigger joins their runs. The runs take their places behind
     * every run accepted before this call began, before every run whose acceptance begins after it, and in the order in
     * which their windows ended.
     */
    readonly closeWindows: (now: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /**
     * The runs that hold slots: admitted and not finished, or ended and not released, in the order of the lanes.
     * A `queued` one may or may not have reached the broker.
     */
    readonly inFlight: Effect.Effect<ReadonlyArray<LaneRun>, Unavailable>
    /**
     * Forgets that runs in flight were sent and started: each is `queued` and admitted again, and the clock of an
     * asynchronous run starts again. Ended runs, which are not sent again, are released.
     */
    readonly forgetSent: (at: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /**
     * Admits queued runs, all in one commit; repeating it changes nothing. `at` is when each got its slots. From `now`
     * on each has a deadline: an asynchronous run one timeout later, until the time of its sending is known. Returns
     * the runs that may be sent: the others are no longer queued, were deleted, or their team is paused. Fails with
     * `LeaseLost` if `term` is no longer the dispatcher's.
     */
    readonly admit: (
      runs: ReadonlyArray<RunEvent>,
      term: Term,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlySet<RunId>, LeaseLost | Unavailable>
    /** The threads of these runs; runs without one are left out. Sessions that late answers reported count, too. */
    readonly threadsOf: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyMap<RunId, LaneThread>, Unavailable>
    /** The webhooks' current own limits. Webhooks without one, and unknown webhooks, are absent. */
    readonly limits: (ids: ReadonlyArray<WebhookId>) => Effect.Effect<ReadonlyMap<WebhookId, number>, Unavailable>
  }
>() {}
