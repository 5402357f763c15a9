import { Context, Data, type DateTime, type Duration, type Effect, type Result } from "effect"
import type {
  BudgetExceeded,
  IdempotencyKeyReused,
  NotFound,
  RateLimited,
  TooManyQueued,
  Unavailable
} from "../../domain/Errors.ts"
import type { RunId, ThreadId, WebhookId } from "../../domain/Id.ts"
import type { CombinedTemplate } from "../../domain/prompt/Combined.ts"
import type { PromptLayout } from "../../domain/prompt/PromptLayout.ts"
import type { SessionUsage } from "../../domain/run/AgentReport.ts"
import type { AgentRequest } from "../../domain/run/AgentRequest.ts"
import type { NamedFile } from "../../domain/run/Attachments.ts"
import type { HeldFor } from "../../domain/run/Held.ts"
import type { ThreadTurn } from "../../domain/run/PromptBody.ts"
import type { CancelledBy, Run, RunMode, RunRow, Variables } from "../../domain/run/Run.ts"
import type { StoredFile } from "../../domain/run/RunFile.ts"
import type { RunSource } from "../../domain/run/RunSource.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Budget } from "../../domain/webhook/Budget.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import type { Singleton } from "../../domain/webhook/WebhookSettingKinds.ts"
import type { SettingValues } from "../../domain/webhook/WebhookSettings.ts"
import type { EndedRun, RunEnd, RunEvent } from "./RunEnd.ts"

/** A run at acceptance: everything that later edits of its webhook must not change. */
export interface NewRun {
  readonly run_id: RunId
  readonly source: RunSource
  /** Absent for a chat message. Accepted only while the webhook is enabled and still has this token and version. */
  readonly webhook?: {
    readonly id: WebhookId
    readonly token_hash: TokenHash
    readonly version: number
    /** How many of its runs may wait, accepted and not admitted; absent: only the global limit counts. */
    readonly max_queued?: number
    /** How many of its runs are accepted per period (`domain/webhook/Rate.ts`); absent: no limit. */
    readonly rate?: string
    /** Its budget per day of `accepted_at`, in UTC; absent: no limit. */
    readonly budget?: Budget
  }
  /** The version of the webhook whose template made the prompt; absent: the one above. `null`: none did, as for a reply. */
  readonly webhook_version?: number | null
  readonly team: TeamName
  readonly mode: RunMode
  /** The webhook's `run_title`, filled in; absent: it has none. */
  readonly title?: string
  readonly prompt: string
  /** The parts of the prompt, if it was rendered from a template. */
  readonly layout?: PromptLayout
  readonly variables: Variables
  /** Files without contents and sources are those of the run that it replays. */
  readonly files?: ReadonlyArray<NamedFile & { readonly bytes?: StoredFile["bytes"] }>
  readonly agent?: AgentRequest
  readonly timeout: Duration.Duration
  /** How long its agent may work after its caller stopped waiting; absent: its timeout stops the agent. */
  readonly max_work?: Duration.Duration
  /**
   * The key of its conversation: it joins the team's open thread with this key, or begins one. Joining a window changes
   * nothing in this. Absent: it stands alone.
   */
  readonly thread_key?: string
  /** The run that this one replays. */
  readonly replay_of?: RunId
  /** The run whose end started this one, and how many came before it. */
  readonly chained_from?: RunId
  readonly chain_depth?: number
  /**
   * The number of this attempt, and the maximum. From 2 on, `replay_of` is the previous one. It is accepted only while
   * that one waits for its retry, which it then no longer does (`retried_by`).
   */
  readonly attempt?: number
  readonly max_attempts?: number
  /** The delay of a retry after an `error` that is not one of `finalErrors`; absent: no retry. */
  readonly retry_after_seconds?: number
  /**
   * In wait mode, counted from the request's arrival. For an asynchronous run that is only sent to a leader, the end of
   * its wait for one.
   */
  readonly deadline_at?: DateTime.Utc
  /**
   * Why it gets no place in the lane yet. `until`: when that ends; with `webhook_paused`, the earliest time. Absent: it is not
   * held, except for its window (`coalesce`).
   */
  readonly hold?: { readonly for: HeldFor; readonly until?: DateTime.Utc }
  /** Somebody must approve it, after its hold. */
  readonly needs_approval?: true
  readonly accepted_at: DateTime.Utc
  /** The trace that its prompt is sent in, as in W3C trace context; absent: a new one. */
  readonly traceparent?: string
  /** For a tool's call: its key, as in `Run`. */
  readonly triggered_by?: string
  /** Who else asked for it, as in `Run`. */
  readonly asked_by?: string
  /** Where its caller wants the end to be sent, as `URL` writes it. */
  readonly callback_url?: string
  /** It joins the run of an earlier trigger with this key, webhook and team, if that run's window is open. */
  readonly coalesce?: {
    readonly key: string
    /**
     * Until when others can join it, at least; but no longer than the first one's `latest`. It gets a place in the lane when its
     * window closes.
     */
    readonly until: DateTime.Utc
    /** Default: `until`. */
    readonly latest?: DateTime.Utc
    /** Its prompt is made from this at the end of the window; absent: the prompt of the last one counts. */
    readonly template?: CombinedTemplate
    /** Kept for that prompt, up to `Combined.maxRequests`. */
    readonly request?: Variables
  }
  /**
   * One run of its webhook and team at a time with this key is on: not ended, or waiting for a retry. `on_new`: it is
   * accepted in any case; only if none is on; or instead of older ones, which are cancelled. If it needs approval, it first
   * replaces only those that wait for theirs. `supersede_when`: `started` leaves the one in progress, which is not retried then;
   * default: `accepted`.
   */
  readonly singleton?: {
    readonly key: string
    readonly on_new: Singleton["on_new"]
    readonly supersede_when?: SettingValues["supersede_when"]
  }
  /** Identifies one run of its webhook, or one message to its team. */
  readonly idempotency?: {
    readonly key: string
    readonly request_hash: Uint8Array
    /** When the key is free again. */
    readonly expires_at: DateTime.Utc
    /** The key of a cancelled run is free, too, unless a later event cancelled it: that would be undone. */
    readonly renewsCancelled?: boolean
  }
}

/** The next attempt of a failed run. */
export const isRetry = (run: NewRun): run is NewRun & { readonly replay_of: RunId } =>
  run.attempt !== undefined && run.attempt > 1

/**
 * `Repeated`: the idempotency key named an earlier run, which is returned instead of a new one. `Coalesced`: the trigger
 * joined an earlier run, which has its prompt and variables now; or had joined it before (`repeated`).
 */
export type Acceptance =
  | { readonly _tag: "Accepted" }
  | { readonly _tag: "Repeated"; readonly run: Run; readonly deadline_at?: DateTime.Utc }
  | { readonly _tag: "Coalesced"; readonly run_id: RunId; readonly repeated: boolean }

/** The webhook was edited after the run's prompt was rendered. */
export class WebhookEdited extends Data.TaggedError("WebhookEdited") {}

/** A run with the same key is on (`singleton`). */
export class Skipped extends Data.TaggedError("Skipped")<{ readonly run_id: RunId }> {}

/**
 * Why a run was not accepted. `NotFound`: the webhook is gone, disabled, or has another token; the team is gone; or the
 * failed run no longer waits for this retry.
 */
export type AcceptanceRefused =
  | NotFound
  | WebhookEdited
  | Skipped
  | BudgetExceeded
  | RateLimited
  | TooManyQueued
  | IdempotencyKeyReused

/** The options of an acceptance. */
export interface AcceptOptions {
  /** Maximum number of waiting runs, accepted and not admitted, over all teams. */
  readonly maxQueued: number
  /**
   * False: the caller knows that far fewer wait, so they are not counted. Default: true.
   */
  readonly countQueued?: boolean
  /**
   * The webhooks whose own limits are checked; the caller knows that the others are far below theirs. Default: all.
   */
  readonly countQueuedOf?: ReadonlySet<WebhookId>
}

/** How many runs with a webhook may be out at a time, over all servers. */
export interface SlotLimits {
  /** The limit of all webhooks; for the runs of a webhook whose own limit is higher, that one. */
  readonly total: number
  /** The limits of these webhooks, instead of their own `max_concurrent`. */
  readonly webhooks: ReadonlyMap<WebhookId, number>
}

/** A run that is out: admitted, and not released. */
export interface OutRun
  extends Pick<
    RunRow,
    | "run_id"
    | "source"
    | "team"
    | "mode"
    | "status"
    | "prompt"
    | "agent"
    | "files"
    | "timeout_ms"
    | "deadline_at"
    | "stop_at"
    | "traceparent"
    | "thread_key"
    | "accepted_at"
    | "admitted_at"
    | "sent_at"
    | "rests"
  > {
  /** The parts of its prompt; absent for a chat message, and for runs of a release without layouts. */
  readonly layout?: PromptLayout
  /** The current name, not that at acceptance; absent for a chat message. */
  readonly webhook?: {
    readonly id: WebhookId
    readonly name: string
    /** Its budget of cost; absent also for a replay by a person, to which it does not apply. */
    readonly max_cost_per_day?: number
  }
  /** Absent: it stands alone. */
  readonly thread?: OutThread
}

/** The thread of a run, and the agent's session as the newest ended run of the thread reported it. */
interface OutThread {
  readonly id: ThreadId
  readonly session_id?: string
  /** As the same run reported it. */
  readonly session_usage?: SessionUsage
  /** Its latest prompts and answers, if that run reported no session, or its webhook has `thread_history`. */
  readonly history?: ReadonlyArray<ThreadTurn>
}

/** The work of one commit, in this order. */
export interface StepInput {
  readonly ends?: ReadonlyArray<RunEnd>
  /** Ended runs whose team has, or will have, no prompt of theirs: their team and slots are free. Notified like an end. */
  readonly releases?: ReadonlyArray<RunEvent>
  readonly accepts?: ReadonlyArray<NewRun>
  /** The next runs of these teams are admitted, too. */
  readonly teams?: ReadonlyArray<TeamName>
}

export interface StepOptions extends AcceptOptions {
  /** When the admitted runs are admitted. */
  readonly at: DateTime.Utc
  readonly limits: SlotLimits
  /** Teams that have a leader. */
  readonly led: Iterable<TeamName>
  /** Teams that have none. Default: it is not known of any. */
  readonly leaderless?: Iterable<TeamName> | "all others"
}

/** The results, in the order of the items. */
export interface StepResult {
  readonly accepted: ReadonlyArray<Result.Result<Acceptance, AcceptanceRefused>>
  readonly ended: ReadonlyArray<EndedRun>
  /** The runs that accepted ones have replaced. Of a failed one, the retry was cancelled. */
  readonly superseded: ReadonlyArray<Run>
  /** They may be sent, and nobody else sends them. */
  readonly admitted: ReadonlyArray<OutRun>
  /**
   * A slot is free for the next run of these teams, but it is only sent to a leader, and they are neither `led` nor
   * `leaderless`. They keep their turn, and nobody else got the slot: the next step needs to know.
   */
  readonly needLeader: ReadonlyArray<TeamName>
}

export interface Decided extends Pick<StepResult, "superseded"> {
  readonly team: TeamName
}

/** A leader has reported that its agent reached a usage limit, and did not do the work. */
export interface LimitedRun extends RunEvent {
  /** The limit, in the agent's words. */
  readonly reason: string
  /** When it ends; absent: unknown. */
  readonly until?: DateTime.Utc
  /** The run's `rests` when its prompt was sent; absent: it is the prompt that is out. */
  readonly rests?: number
}

/** A run that went back to its lane. */
export interface Rest extends Pick<RunRow, "run_id" | "team"> {
  /** Its team rests until then. */
  readonly until?: DateTime.Utc
}

/** The runs with a key of `singleton` that are on. */
export interface SingletonRuns {
  readonly webhook_id: WebhookId
  readonly team: TeamName
  readonly key: string
}

/** A request for which `cancel_if` holds. A repeat counts as the first one with its key. */
export interface CancelEvent extends Pick<NewRun, "idempotency"> {
  readonly received_at: DateTime.Utc
}

export interface ExpireOptions {
  /** Teams without a leader. */
  readonly stopped?: ReadonlyArray<TeamName>
}

/** The waiting runs of a webhook or a team. */
export type QueuedRuns = ({ readonly team: TeamName } | { readonly webhook_id: WebhookId }) & {
  /** Only those that belong to these teams alone (`OwnerStore`). */
  readonly owners?: ReadonlyArray<TeamName>
}

/**
 * The life of runs. Every method takes a group, and commits it once. Results are in the order of the items. If a run is
 * named more than once, the first item counts.
 */
export class RunStore extends Context.Service<
  RunStore,
  {
    /**
     * Ends, releases and accepts runs, and admits those that may be sent now. These are the first runs of the lanes of teams
     * that this touches, or that wait for a slot. A team has one run out, and the limits must have a slot. The team whose
     * turn is longest ago comes first. A paused team gets none, and a run whose caller no longer waits is left out.
     *
     * An accepted run is never lost. A run accepted before this call began is before these in the lane, and these are in the
     * given order. A run that opens a window (`coalesce`) has no place in the lane until `LaneStore.endHolds`, but
     * counts as waiting. A webhook's `rate` is a token bucket, by the clock that all replicas share. It holds as many runs as
     * the rate names, and fills evenly. Only accepted runs take from it.
     *
     * The first end wins. An answer to a run that has timed out or was cancelled is stored in its conversation, and the
     * first report that comes with a later answer or error is stored with the run. Such a run is out, until a later end
     * shows that no agent works on it (`endsWork`), or until it is released. To cancel it then says who did, and moves its
     * stop to now. A failed run may then wait for a retry.
     */
    readonly step: (input: StepInput, options: StepOptions) => Effect.Effect<StepResult, Unavailable>
    /**
     * The broker has confirmed them: `running`, and the clock of an asynchronous run starts, or starts again. Ended
     * runs do not change. A crash of the database may lose this.
     */
    readonly sent: (events: ReadonlyArray<RunEvent>) => Effect.Effect<void, Unavailable>
    /**
     * The leader has reported the start: the clock of an asynchronous run starts again. A crash may lose this. Returns the
     * runs that were over before, without an answer: their leaders work in vain.
     */
    readonly started: (
      events: ReadonlyArray<RunEvent>
    ) => Effect.Effect<ReadonlyArray<Pick<Run, "run_id" | "team">>, Unavailable>
    /**
     * Takes runs back whose agents have reached a usage limit: each is `queued` at the head of its lane, and holds nothing. Its
     * team rests, which means that none of its runs is admitted, until the limit ends. If that is unknown, for a minute, which
     * doubles up to an hour with each limit in a row. A reply that is repeated changes nothing. Of those in `ended`, the
     * end came first; the team rests nevertheless, if the reply was the first.
     */
    readonly rest: (
      runs: ReadonlyArray<LimitedRun>
    ) => Effect.Effect<{ readonly rested: ReadonlyArray<Rest>; readonly ended: ReadonlyArray<RunId> }, Unavailable>
    /**
     * Ends as `cancelled` the runs that were accepted no later than `at` and are not admitted. Returns their number.
     */
    readonly cancelQueued: (
      of: QueuedRuns,
      options: { readonly at: DateTime.Utc; readonly by: CancelledBy }
    ) => Effect.Effect<number, Unavailable>
    /**
     * Cancels the runs with a key that were accepted before an event of their source arrived first. Of a failed one, the
     * retry. Returns them. Notified like an end.
     */
    readonly cancelSingletons: (
      of: SingletonRuns,
      event: CancelEvent & { readonly at: DateTime.Utc }
    ) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
    /** The number of runs that `cancelQueued` would end. */
    readonly countQueued: (of: QueuedRuns) => Effect.Effect<number, Unavailable>
    /**
     * The run no longer waits for its approval: it takes its place in its team's lane and replaces others (`singleton`), or ends
     * as `cancelled`. The first decision wins. Returns its team, and the runs that it has replaced. Undefined: it does not wait for
     * approval, or its time is over.
     */
    readonly decide: (
      id: RunId,
      decision: { readonly approves: boolean; readonly at: DateTime.Utc; readonly by: string }
    ) => Effect.Effect<Decided | undefined, Unavailable>
    /** The hold of a run that waits for its time or its window ends at `at`, which is now: `LaneStore.endHolds` does the rest. */
    readonly endHold: (id: RunId, at: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /** Ends as `cancelled` the runs that waited for their approval until `now`, and returns them. */
    readonly expireApprovals: (now: DateTime.Utc) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
    /**
     * Releases ended runs whose leader was told to stop at this time or before: `unconfirmed`, as their agents may work.
     * Returns them.
     */
    readonly releaseUnconfirmed: (
      toldBy: DateTime.Utc,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<Pick<Run, "run_id" | "team">>, Unavailable>
    /**
     * Runs whose retry is due, the longest-waiting first, without those of `except`. They stay until their next attempt
     * is accepted.
     */
    readonly retriesDue: (
      now: DateTime.Utc,
      options: { readonly limit: number; readonly except: ReadonlyArray<WebhookId> }
    ) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /**
     * Cancels their retries. Returns the runs that had one. Notified like an end. Without `by`, the server did, because
     * of its webhook's settings.
     */
    readonly callOffRetries: (
      ids: ReadonlyArray<RunId>,
      by?: CancelledBy
    ) => Effect.Effect<ReadonlySet<RunId>, Unavailable>
    /**
     * The same for all failed runs of this webhook, or of all webhooks that point at this team now. Returns their
     * number.
     */
    readonly callOffRetriesOf: (of: QueuedRuns, by: CancelledBy) => Effect.Effect<number, Unavailable>
    /** The number of pending retries. */
    readonly countRetries: (of: QueuedRuns) => Effect.Effect<number, Unavailable>
    /** The runs among these that have ended, and the IDs of those that no longer exist. */
    readonly ended: (
      ids: ReadonlyArray<RunId>
    ) => Effect.Effect<{ readonly runs: ReadonlyArray<Run>; readonly deleted: ReadonlyArray<RunId> }, Unavailable>
    /**
     * Ends runs whose deadline has passed as `timeout`, and returns them. Before its admission, an asynchronous run's
     * deadline limits the wait for a leader: it ends as `noLeaderInTime`, but only if there is no leader. That clock stops
     * while its team is paused, and starts again afterwards.
     */
    readonly expire: (now: DateTime.Utc, options?: ExpireOptions) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
  }
>()("webhook-trigger/RunStore") {}
