import { Context, type DateTime, type Duration, type Effect } from "effect"
import type { InvalidParameter, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { RunState } from "../../domain/run/RunState.ts"
import type { FinalStatus, RunStatus } from "../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import type { RunUsage } from "../../domain/run/RunUsage.ts"
import type { RunBucket, WorkNow } from "../../domain/run/Statistics.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { DayUse } from "../../domain/webhook/Budget.ts"
import type { NewRun } from "../run/RunStore.ts"
import type { RunFilter, RunPage, RunQuery } from "./RunQuery.ts"

/** The runs whose states are asked for. */
export interface StatesQuery {
  readonly run_ids: ReadonlyArray<RunId>
  /** The newest unfinished runs of these teams, accepted at or after `since`. */
  readonly teams: ReadonlyArray<TeamName>
  readonly since: DateTime.Utc
  /** Numbers of runs by team: waiting, and admitted. */
  readonly limit: number
}

/** A run with everything needed to make another one like it. */
export type WholeRun = Run & Pick<NewRun, "layout"> & { readonly singleton_key?: string }

/** Selects ended runs to replay. */
export interface ReplayableQuery {
  /** Runs of this webhook; or of all webhooks that point at this team now, and its messages. */
  readonly of: { readonly webhook_id: WebhookId } | { readonly team: TeamName }
  readonly statuses: ReadonlyArray<FinalStatus>
  /** Belongs to these teams alone (`OwnerStore`). */
  readonly owners?: ReadonlyArray<TeamName>
  /** Accepted then or later. */
  readonly from?: DateTime.Utc
  /** Accepted earlier. */
  readonly to?: DateTime.Utc
  /** Ignores the runs that an earlier request made: they are not replayed, and do not count as replays. */
  readonly except?: { readonly keyPrefix: string; readonly request_hash: Uint8Array }
  readonly limit: number
}

/** The position of a queued run, and what its team has. */
export interface QueuedFacts {
  readonly is_admitted: boolean
  /** It is only sent while its team has a leader. */
  readonly needs_leader: boolean
  /** Its team is paused. */
  readonly is_paused: boolean
  /** Its team rests (`RunStore.rest`). */
  readonly resting_until?: DateTime.Utc
  readonly resting_reason?: string
  /** The runs that wait in front of it in its team's lane. */
  readonly ahead: number
  /** The status of the run that its team has out. */
  readonly out?: RunStatus
  /** Its webhook has a limit of its own, and all of its slots are taken. */
  readonly webhook_is_full: boolean
}

/** Runs for people to read. The driver cuts long texts in lists, where the rows are. */
export class HistoryStore extends Context.Service<
  HistoryStore,
  {
    readonly run: (id: RunId) => Effect.Effect<Run, NotFound | Unavailable>
    /**
     * Runs of one webhook or thread in the order of acceptance, or of all in the order of their IDs, which contain the
     * time. After half a second, returns what it has found, and a cursor to continue. `NotFound`: no such webhook.
     */
    readonly runs: (query: RunQuery) => Effect.Effect<RunPage, NotFound | InvalidParameter | Unavailable>
    /** What the matching runs used. After half a second, the sum of those that it has found. `NotFound`: no such webhook. */
    readonly usage: (filter: RunFilter) => Effect.Effect<RunUsage, NotFound | Unavailable>
    /** Several complete runs, in any order; missing ones are left out. Each text may have megabytes. */
    readonly runsByIds: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyArray<WholeRun>, Unavailable>
    /** The run's replays, newest first; only those of `owners`, if given. */
    readonly replays: (
      id: RunId,
      limit: number,
      owners?: ReadonlyArray<TeamName>
    ) => Effect.Effect<ReadonlyArray<RunSummary>, Unavailable>
    /** Ended runs without a replay or a pending retry, in the order of acceptance. */
    readonly replayable: (query: ReplayableQuery) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /**
     * A team's runs, newest first: those of webhooks that point at it now, and its chat messages. May leave out those
     * behind a thousand newer runs of the same webhook for another team.
     */
    readonly teamRuns: (team: TeamName, limit: number) => Effect.Effect<ReadonlyArray<RunSummary>, Unavailable>
    /** In the order of acceptance, each run once. Missing runs are left out. */
    readonly states: (query: StatesQuery) => Effect.Effect<ReadonlyArray<RunState>, Unavailable>
    /**
     * How the runs accepted since then ended and what they used, by webhook and time step, without empty steps. `since`
     * is a whole hour in UTC and `step` some hours, or midnight and some days. Hours are kept for a week, days for a
     * month.
     */
    readonly activity: (
      since: DateTime.Utc,
      step: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<RunBucket & { readonly webhook_id: WebhookId }>, Unavailable>
    /** The same for one webhook, with durations: six binary digits, rounded down. */
    readonly statistics: (
      id: WebhookId,
      since: DateTime.Utc,
      step: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<RunBucket>, Unavailable>
    /** The same for all webhooks, or those of these teams. */
    readonly totals: (
      owners: ReadonlyArray<TeamName> | undefined,
      since: DateTime.Utc,
      step: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<RunBucket>, Unavailable>
    /** What each team has now, by team, of the runs that belong to `owners`, if given. */
    readonly work: (owners: ReadonlyArray<TeamName> | undefined) => Effect.Effect<ReadonlyArray<WorkNow>, Unavailable>
    /**
     * Counts a portion of the ends that were stored at least `settled` ago, and returns true if more are left. `activity`
     * and `statistics` count newer ends when they are read, so they do not depend on it. It counts each end once, whenever
     * its run was accepted. What is counted stays when runs are purged.
     */
    readonly rollUp: (now: DateTime.Utc, settled: Duration.Duration) => Effect.Effect<boolean, Unavailable>
    /**
     * What the webhook has used of its budget of this moment's day, in UTC: the runs that count (`NewRun.budget`), and
     * what all runs accepted that day cost, as far as reported (`priced_runs`).
     */
    readonly dayUse: (id: WebhookId, at: DateTime.Utc) => Effect.Effect<DayUse, Unavailable>
    /** The webhook's runs that hold a slot, and those that wait for one. */
    readonly slots: (
      id: WebhookId
    ) => Effect.Effect<{ readonly slots_in_use: number; readonly queued: number }, Unavailable>
    /** What a queued run may wait for; undefined if the run is no longer queued. Counts the runs ahead up to `most`. */
    readonly queuedFacts: (id: RunId, most: number) => Effect.Effect<QueuedFacts | undefined, Unavailable>
    /**
     * Removes a portion of the runs that ended before `before` , are released and have no pending retry. Returns how many, 0 when
     * there are none.
     */
    readonly purge: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>()("webhook-trigger/HistoryStore") {}
