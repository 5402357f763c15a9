import { Context, Data, DateTime, type Duration, type Effect, type Either } from "effect"
import type { IdempotencyKeyReused, NotFound, RateLimited, TooManyQueued, Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { PromptLayout } from "../domain/prompt/PromptLayout.ts"
import type { Outcome, Run, RunMode, RunSource, Variables } from "../domain/run/Run.ts"
import type { TeamName } from "../domain/Team.ts"
import type { TokenHash } from "../domain/webhook/Token.ts"
import type { Term } from "./LeaseStore.ts"

/** A run at acceptance: everything that a later edit of its webhook must not change. */
export interface NewRun {
  readonly run_id: RunId
  readonly source: RunSource
  /** Absent for a chat message. Accepted only while the webhook is enabled and still has this token and this version. */
  readonly webhook?: {
    readonly id: WebhookId
    readonly token_hash: TokenHash
    readonly version: number
    /** How many of its runs may wait, accepted and not admitted; absent: as many as of all. */
    readonly max_queued?: number
    /** How many of its runs are accepted in which time (`domain/webhook/Rate.ts`); absent: no limit. */
    readonly rate?: string
  }
  /** The version of the webhook from whose template the prompt was made; absent: the one above. */
  readonly webhook_version?: number
  readonly team: TeamName
  readonly mode: RunMode
  readonly prompt: string
  /** What the prompt is made up of, when it was rendered from a template. */
  readonly layout?: PromptLayout
  readonly variables: Variables
  readonly timeout: Duration.Duration
  /** The run that this one repeats. */
  readonly replay_of?: RunId
  /**
   * Which attempt it is, and of how many at most. From 2 on `replay_of` is the one before: accepted only while that waits to
   * be tried again, which it does not any more from then on (`retried_by`).
   */
  readonly attempt?: number
  readonly attempts?: number
  /** How long after its end it is tried again if that is an error (`retryAt`); absent: not at all. */
  readonly retry_after_seconds?: number
  /** In wait mode counted from the request's arrival; else set when the run is sent only to a leader: until when. */
  readonly deadline_at?: DateTime.Utc
  readonly accepted_at: DateTime.Utc
  /** The trace that its prompt is sent in, as in W3C trace context; absent: one of its own. */
  readonly traceparent?: string
  /** It joins the run of an earlier trigger with this key, webhook and team, if that run's window is open. */
  readonly coalesce?: {
    readonly key: string
    /** For a new run: until when others can join it. It has no place in the lane until its window is closed. */
    readonly until: DateTime.Utc
  }
  /** Names one run of its webhook, or one message to its team. */
  readonly idempotency?: {
    readonly key: string
    readonly request_hash: Uint8Array
    /** From then on the key is free again. */
    readonly expires_at: DateTime.Utc
  }
}

/** The next attempt of a failed run. */
export const isRetry = (run: NewRun): run is NewRun & { readonly replay_of: RunId } =>
  run.attempt !== undefined && run.attempt > 1

/**
 * `admitted`: it was admitted with the same commit, as was asked for, and may be published. `ahead`: for the dispatcher, the
 * runs that wait in the lane before it, perhaps without those of this call; absent: more than `mostAhead`, or not known.
 * `Repeated`: the idempotency key named an earlier run, which is returned in place of a new one. `Coalesced`: an earlier run
 * has its prompt and variables now, or had them before, when the idempotency key was used for that (`repeated`).
 */
export type Acceptance =
  | { readonly _tag: "Accepted"; readonly admitted: boolean; readonly ahead?: ReadonlyArray<RunId> }
  | { readonly _tag: "Repeated"; readonly run: Run; readonly deadline_at?: DateTime.Utc }
  | { readonly _tag: "Coalesced"; readonly run_id: RunId; readonly repeated: boolean }

/** So many runs that wait before an accepted one are named. */
export const mostAhead = 4

/** The webhook was edited after the run's prompt was rendered. */
export class WebhookEdited extends Data.TaggedError("WebhookEdited") {}

/**
 * Why a run was not accepted. `NotFound`: the webhook is gone, disabled, or has another token by now; or the team is gone;
 * or the run that it would be the next attempt of is not to be tried again.
 */
export type AcceptanceRefused = NotFound | WebhookEdited | RateLimited | TooManyQueued | IdempotencyKeyReused

/**
 * Runs that are to be admitted with a commit, as by `LaneStore.admit`, at this time, by the dispatcher of this term: none when
 * the term is no longer the dispatcher's.
 */
export interface Admission {
  readonly term: Term
  readonly run_ids: ReadonlySet<RunId>
  readonly at: DateTime.Utc
}

/** What is asked for with an acceptance. */
export interface AcceptOptions {
  /** Runs that may wait, accepted and not admitted, over all teams. */
  readonly maxQueued: number
  /** False: there are far fewer, as the caller knows, and they need not be counted. A driver may count them anyway. Default: true. */
  readonly countQueued?: boolean
  /** The webhooks whose own limits are checked; the others have far fewer, as the caller knows. A driver may check all. Default: all. */
  readonly countQueuedOf?: ReadonlySet<WebhookId>
  /**
   * Given by the dispatcher, which then needs no notification of these runs: those among them that are to be admitted as well,
   * but for those of a team for which an earlier run waits.
   */
  readonly admission?: Admission
}

export interface ExpireOptions {
  /**
   * Fire-and-forget runs that do not end: an admitted run has a deadline from its admission on, whether or not anyone can
   * record that it was sent.
   */
  readonly notSent?: ReadonlyArray<RunId>
  /** Teams that have no leader. */
  readonly stopped?: ReadonlyArray<TeamName>
}

/** Something that happened to a run, and when. */
export interface RunMark {
  readonly run_id: RunId
  readonly at: DateTime.Utc
}

/**
 * When a run was sent of which its leader has reported that it started, or not: before that, also when the broker's
 * confirmation took longer. A run without such a report has one time for both, once it has ended.
 */
export const sentBefore = <Sent extends DateTime.Utc | undefined>(
  sent_at: Sent,
  started_at: DateTime.Utc | undefined
): Sent | DateTime.Utc =>
  sent_at && started_at ? DateTime.min(sent_at, DateTime.subtract(started_at, { millis: 1 })) : sent_at

/** The end of a run, to be recorded unless another came first. */
export interface RunEnd extends RunMark {
  readonly outcome: Outcome
  /** False: the run need not be read when another end came first. Default: true. */
  readonly wantsRun?: boolean
  /** When it was sent and started, for a run of which that is not recorded yet. */
  readonly sent_at?: DateTime.Utc
  readonly started_at?: DateTime.Utc
}

/** What waits of a webhook or for a team. */
export type QueuedRuns = { readonly team: TeamName } | { readonly webhook_id: WebhookId }

/** What became of a `RunEnd`. */
export interface EndedRun {
  /** This call ended the run; else `run` shows who was first. */
  readonly recorded: boolean
  /** The run as it is now; `undefined`: unknown, deleted meanwhile, or not wanted. */
  readonly run: Run | undefined
}

/**
 * The life of runs. Everything comes in groups, and each group is one commit: what arrives together shares its cost. The
 * answers stand in the order of the questions; the same run may be named more than once, and the first one counts.
 */
export class RunStore extends Context.Tag("webhook-trigger/RunStore")<
  RunStore,
  {
    /**
     * The hand-over: a run that is `Accepted` is kept whatever happens. Order: a run accepted before this call began stands
     * before these in the lane, and these stand in the order in which they are given. A run that opens a window
     * (`coalesce`) has no place in the lane until `LaneStore.closeWindows`; it still counts as waiting.
     *
     * A webhook's `rate` is a token bucket, by the clock that all replicas share: full, it holds as many runs as the rate
     * names, and it fills evenly. Only what is accepted takes from it.
     */
    readonly accept: (
      runs: ReadonlyArray<NewRun>,
      options: AcceptOptions
    ) => Effect.Effect<ReadonlyArray<Either.Either<Acceptance, AcceptanceRefused>>, Unavailable>
    /**
     * The broker has confirmed them: `running`, and their clock (fire-and-forget) starts, or starts again when they were
     * sent again. Leaves alone what has ended. A crash of the database may lose it.
     */
    readonly sent: (marks: ReadonlyArray<RunMark>) => Effect.Effect<void, Unavailable>
    /** The leader reports that it started: the clock of a fire-and-forget run starts again. A crash may lose it. */
    readonly started: (marks: ReadonlyArray<RunMark>) => Effect.Effect<void, Unavailable>
    /**
     * The first end wins. An answer to a run that has timed out or was cancelled is kept in its conversation. A run that is
     * cancelled after it was admitted still holds its slots, until a later end of it comes, or `release`. A failed run may
     * wait from then on to be tried again (`retryAt`).
     */
    readonly end: (ends: ReadonlyArray<RunEnd>) => Effect.Effect<ReadonlyArray<EndedRun>, Unavailable>
    /**
     * `end`, and with the same commit the admission of runs in the slots that this frees; gives those that may be sent. None is
     * admitted unless each of the ends was recorded by this call. Optional: it saves a commit (`EndAndAdmit.ts`).
     */
    readonly endAndAdmit?: (
      ends: ReadonlyArray<RunEnd>,
      admission: Admission
    ) => Effect.Effect<{ readonly ended: ReadonlyArray<EndedRun>; readonly admitted: ReadonlySet<RunId> }, Unavailable>
    /**
     * Of these runs, those of which `end` would store an answer: `live`, which are not finished, and `late`, which have ended
     * without one that could have come.
     */
    readonly answerable: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyMap<RunId, "live" | "late">, Unavailable>
    /**
     * Ends as `cancelled` what is queued and not admitted there, and was accepted no later than `at`; returns how many runs
     * that were.
     */
    readonly cancelQueued: (of: QueuedRuns, at: DateTime.Utc) => Effect.Effect<number, Unavailable>
    /** Cancelled runs of which their team has, or will have, nothing: their slots are free. Reported like an end. */
    readonly release: (marks: ReadonlyArray<RunMark>) => Effect.Effect<void, Unavailable>
    /**
     * Runs that are to be tried again by then, the one that has waited longest first; without those of `except`. They stay
     * until their next attempt is accepted.
     */
    readonly retriesDue: (
      now: DateTime.Utc,
      options: { readonly limit: number; readonly except: ReadonlyArray<WebhookId> }
    ) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /** They are not to be tried again after all; returns those that were. Reported like an end. */
    readonly callOffRetries: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlySet<RunId>, Unavailable>
    /** The same for all failed runs of this webhook, or of all webhooks that point at this team now; returns how many. */
    readonly callOffRetriesOf: (of: QueuedRuns) => Effect.Effect<number, Unavailable>
    /** How many there are of those that wait to be tried again. */
    readonly countRetries: (of: QueuedRuns) => Effect.Effect<number, Unavailable>
    /** Of these runs, those that have ended, and the ids of those that no longer exist. */
    readonly ended: (
      ids: ReadonlyArray<RunId>
    ) => Effect.Effect<{ readonly runs: ReadonlyArray<Run>; readonly deleted: ReadonlyArray<RunId> }, Unavailable>
    /**
     * Ends, as `timeout`, runs whose deadline is past, and returns them. The clock of a sent fire-and-forget run that has
     * not started is paused while its team works on an earlier one, and starts again when that one is answered. Until it
     * is admitted its deadline is how long it waits for a leader: then it ends, as `leaderless`, only if there is none.
     * Not while its team is paused; when that is resumed, this clock starts again.
     * Releases cancelled runs whose deadline is past.
     */
    readonly expire: (now: DateTime.Utc, options?: ExpireOptions) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
  }
>() {}

/** Of several items for one run, the first, in the order of the runs' first items. */
export const firstOfEach = <A extends { readonly run_id: string }>(items: Iterable<A>): ReadonlyArray<A> => {
  const first = new Map<string, A>()
  for (const item of items) if (!first.has(item.run_id)) first.set(item.run_id, item)
  return [...first.values()]
}
