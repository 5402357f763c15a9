import { Chunk, Context, Effect, type Option, Queue, type Scope } from "effect"
import type {
  IdempotencyKeyReused,
  InvalidParameter,
  NotFound,
  TeamExists,
  TeamInUse,
  TeamUnknown,
  TooManyQueued,
  Unavailable
} from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { Outcome, Run, RunMode, RunSource, RunStatus, Variables } from "../domain/Run.ts"
import type { Counts } from "../domain/Statistics.ts"
import type { Team, TeamName } from "../domain/Team.ts"
import type { Webhook } from "../domain/Webhook.ts"
import type { TokenHash } from "./Token.ts"

/** A team as it is stored; whether it runs is the bus's to say. */
export type TeamRecord = Pick<Team, "team" | "queued" | "created_at">

/** A webhook as it is first stored. */
export interface NewWebhook {
  readonly id: WebhookId
  readonly name: string
  readonly team: TeamName
  readonly prompt_template: string
  readonly variables: ReadonlyArray<string>
  readonly timeout_seconds?: number
  readonly max_concurrent?: number
  readonly enabled: boolean
  readonly token_hash: TokenHash
  readonly token_hint: string
  readonly created_at: Date
}

/** Fields to overwrite; `null` removes a timeout or limit. */
export interface WebhookChange {
  readonly name?: string
  readonly team?: TeamName
  readonly prompt_template?: string
  readonly variables?: ReadonlyArray<string>
  readonly timeout_seconds?: number | null
  readonly max_concurrent?: number | null
  readonly enabled?: boolean
}

/** A run at acceptance: everything that a later edit of its webhook must not change. */
export interface NewRun {
  readonly run_id: RunId
  readonly source: RunSource
  /** Absent for a chat message. Accepted only while the webhook is enabled and still has this token. */
  readonly webhook?: { readonly id: WebhookId; readonly token_hash: TokenHash }
  readonly team: TeamName
  readonly mode: RunMode
  readonly prompt: string
  readonly variables: Variables
  readonly timeout_ms: number
  /** Set in wait mode: counted from the request's arrival. */
  readonly deadline_at?: Date
  readonly accepted_at: Date
  readonly idempotency?: { readonly key: string; readonly request_hash: Uint8Array; readonly ttl_ms: number }
}

/** `repeated`: the idempotency key named an earlier run, which is returned in place of a new one. */
export type Acceptance =
  | { readonly _tag: "accepted" }
  | { readonly _tag: "repeated"; readonly run: Run; readonly deadline_at?: Date }

/** A run as the dispatcher sees it. */
export interface Dispatchable {
  readonly run_id: RunId
  readonly source: RunSource
  readonly webhook?: {
    readonly id: WebhookId
    readonly name: string
    /** The limit as it is now, not as it was at acceptance. */
    readonly max_concurrent?: number
  }
  readonly team: TeamName
  readonly mode: RunMode
  readonly prompt: string
  readonly timeout_ms: number
  readonly deadline_at?: Date
  readonly status: "queued" | "running"
  /** Whether it was taken for sending before; a `queued` run that was may or may not have reached the broker. */
  readonly admitted: boolean
}

/** Something changed. Only a wake-up: one may be missed or come twice, so the reader asks the rows. */
export type Change =
  | { readonly _tag: "RunAccepted"; readonly team: TeamName }
  | { readonly _tag: "RunStarted"; readonly run_id: RunId }
  | { readonly _tag: "RunEnded"; readonly run_id: RunId }
  | { readonly _tag: "WebhookChanged"; readonly webhook_id: WebhookId }
  | { readonly _tag: "LeaseReleased" }

/** Which dispatcher speaks: grows by one with every new holder, so that an old one is recognised. */
export type Term = number

/** What became of a run's end: `recorded` when this call ended it; else `run` shows who was first. */
export interface Ending {
  readonly recorded: boolean
  /** The run as it is now; none: unknown, or deleted meanwhile. */
  readonly run: Option.Option<Run>
}

/** A page of history, newest first. */
export interface RunQuery {
  readonly webhook_id: WebhookId
  readonly status?: RunStatus
  /** Accepted at or after. */
  readonly from?: Date
  /** Accepted before. */
  readonly to?: Date
  readonly limit: number
  /** Opaque; from the page before. */
  readonly cursor?: string
}

/** The runs accepted within one step of time; `bucket` counts the steps from 0. */
export interface RunBucket extends Counts {
  readonly bucket: number
  /** Of the runs that succeeded; absent when none did. */
  readonly median_ms?: number
  readonly slowest_ms?: number
}

/**
 * The rows: teams, webhooks, runs, and the dispatcher's lease. Every effect may fail with `Unavailable` when the
 * database is out of reach, within a bounded time, and then has done nothing or all. Layers: `memory/RepoMemory.layer` and
 * `sql/RepoSql.layer`.
 */
export class Repo extends Context.Tag("webhook-trigger/Repo")<
  Repo,
  {
    readonly createTeam: (team: TeamName, at: Date) => Effect.Effect<TeamRecord, TeamExists | Unavailable>
    readonly teams: Effect.Effect<ReadonlyArray<TeamRecord>, Unavailable>
    readonly team: (team: TeamName) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** Removes the team and its ended chat messages. */
    readonly deleteTeam: (team: TeamName) => Effect.Effect<void, NotFound | TeamInUse | Unavailable>

    readonly createWebhook: (webhook: NewWebhook) => Effect.Effect<Webhook, TeamUnknown | Unavailable>
    /** All webhooks, by name. */
    readonly webhooks: Effect.Effect<ReadonlyArray<Webhook>, Unavailable>
    readonly webhook: (id: WebhookId) => Effect.Effect<Webhook, NotFound | Unavailable>
    /** The enabled webhook with this token; `last_triggered_at` is not looked up. */
    readonly webhookByToken: (hash: TokenHash) => Effect.Effect<Webhook, NotFound | Unavailable>
    readonly changeWebhook: (
      id: WebhookId,
      change: WebhookChange,
      at: Date
    ) => Effect.Effect<Webhook, NotFound | TeamUnknown | Unavailable>
    readonly replaceToken: (
      id: WebhookId,
      token: { readonly hash: TokenHash; readonly hint: string },
      at: Date
    ) => Effect.Effect<Webhook, NotFound | Unavailable>
    /** Removes the webhook and its runs; returns the ids of those that were not finished. */
    readonly deleteWebhook: (id: WebhookId) => Effect.Effect<ReadonlyArray<RunId>, NotFound | Unavailable>

    /**
     * The hand-over: once this succeeds the run is kept whatever happens. `NotFound`: the webhook is gone, disabled, or
     * has another token by now; or the team is gone. Order: a run accepted before this call began stands before it in
     * the lane.
     */
    readonly accept: (
      run: NewRun,
      limits: { readonly max_queued: number }
    ) => Effect.Effect<Acceptance, NotFound | TooManyQueued | IdempotencyKeyReused | Unavailable>
    readonly run: (id: RunId) => Effect.Effect<Run, NotFound | Unavailable>
    readonly runs: (
      query: RunQuery
    ) => Effect.Effect<
      { readonly data: ReadonlyArray<Run>; readonly next_cursor: string | null },
      NotFound | InvalidParameter | Unavailable
    >
    /** Of these runs, the ones that have ended, and the ids of the ones that no longer exist. */
    readonly ended: (
      ids: ReadonlyArray<RunId>
    ) => Effect.Effect<{ readonly runs: ReadonlyArray<Run>; readonly gone: ReadonlyArray<RunId> }, Unavailable>

    /** How the runs accepted since then ended, by webhook and by steps of `step_ms`; empty steps are left out. */
    readonly activity: (
      since: Date,
      step_ms: number
    ) => Effect.Effect<ReadonlyArray<Counts & { readonly webhook_id: WebhookId; readonly bucket: number }>, Unavailable>
    /** The same of one webhook, with how long its runs took. */
    readonly statistics: (
      id: WebhookId,
      since: Date,
      step_ms: number
    ) => Effect.Effect<ReadonlyArray<RunBucket>, Unavailable>
    /** A webhook's runs that hold a slot, and those that wait for one. */
    readonly slots: (
      id: WebhookId
    ) => Effect.Effect<{ readonly slots_in_use: number; readonly queued: number }, Unavailable>
    /** What a team was asked, newest first: by the webhooks that point at it now, and in chat. */
    readonly teamRuns: (team: TeamName, limit: number) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
    /** For whoever may trigger a webhook without its token. */
    readonly tokenHash: (id: WebhookId) => Effect.Effect<TokenHash, NotFound | Unavailable>

    /** Teams that have a queued run which was not admitted. */
    readonly lanes: Effect.Effect<ReadonlyArray<TeamName>, Unavailable>
    /** The next runs of a team's lane, oldest first: queued and not admitted. */
    readonly lane: (team: TeamName, limit: number) => Effect.Effect<ReadonlyArray<Dispatchable>, Unavailable>
    /** Admitted and not finished, oldest first: these hold slots. */
    readonly inFlight: Effect.Effect<ReadonlyArray<Dispatchable>, Unavailable>
    /** The webhooks' own limits as they are now; absent in the map: none of its own, or no such webhook. */
    readonly limits: (ids: ReadonlyArray<WebhookId>) => Effect.Effect<ReadonlyMap<WebhookId, number>, Unavailable>

    /**
     * Marks queued runs as about to be sent, all at once or none; doing so again changes nothing. Returns those that may
     * be sent: the others are no longer queued, or were deleted. Fails with `LeaseLost` when `term` is no longer the
     * dispatcher's.
     */
    readonly admit: (
      ids: ReadonlyArray<RunId>,
      term: Term
    ) => Effect.Effect<ReadonlySet<RunId>, LeaseLost | Unavailable>
    /**
     * The broker has confirmed it: `running`, and its clock (fire-and-forget) starts, or starts anew when it was sent
     * again. Leaves alone what has ended.
     */
    readonly sent: (id: RunId, at: Date) => Effect.Effect<void, Unavailable>
    /** The leader says it started: the clock of a fire-and-forget run starts anew. */
    readonly started: (id: RunId, at: Date) => Effect.Effect<void, Unavailable>
    /** The first end wins. An answer to a run that has timed out is kept in its conversation. */
    readonly end: (id: RunId, outcome: Outcome, at: Date) => Effect.Effect<Ending, Unavailable>
    /**
     * Ends, as `timeout`, runs whose deadline is past, and returns them. The clock of a sent fire-and-forget run that
     * has not started stands still while its team is at work on an earlier one, and starts anew when that is answered.
     */
    readonly expire: (now: Date) => Effect.Effect<ReadonlyArray<Run>, Unavailable>
    /** Removes ended runs that finished before `before`; returns how many. */
    readonly purge: (before: Date) => Effect.Effect<number, Unavailable>

    /** Takes the dispatcher's lease if it is free or run out, else none. Time is the database's own. */
    readonly acquireLease: (holder: string, ttl_ms: number) => Effect.Effect<Option.Option<Term>, Unavailable>
    readonly renewLease: (term: Term, ttl_ms: number) => Effect.Effect<void, LeaseLost | Unavailable>
    readonly releaseLease: (term: Term) => Effect.Effect<void, Unavailable>

    /** The SHA-256 of the generated admin key; the first caller's stands, and is returned. */
    readonly adminKeyHash: Effect.Effect<Option.Option<Uint8Array>, Unavailable>
    readonly claimAdminKeyHash: (hash: Uint8Array) => Effect.Effect<Uint8Array, Unavailable>

    /** What changes from now on: subscribed once the effect has succeeded. */
    readonly changes: Effect.Effect<Queue.Dequeue<Change>, never, Scope.Scope>
    /** Succeeds when the database answers. */
    readonly ping: Effect.Effect<void, Unavailable>
  }
>() {}

/** Heeds what changes, for ever; what has come meanwhile, together. */
export const onChanges = <E, R>(
  changes: Queue.Dequeue<Change>,
  heed: (changes: ReadonlyArray<Change>) => Effect.Effect<void, E, R>
): Effect.Effect<never, E, R> =>
  Queue.takeBetween(changes, 1, 1_000).pipe(
    Effect.flatMap((all) => heed(Chunk.toReadonlyArray(all))),
    Effect.forever
  )

/** Another dispatcher holds the lease now. */
export class LeaseLost extends Error {
  readonly _tag = "LeaseLost"
}
