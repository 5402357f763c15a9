import { Context, type DateTime, type Duration, type Effect } from "effect"
import type { InvalidParameter, NotFound, Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { Run } from "../domain/run/Run.ts"
import type { RunState } from "../domain/run/RunState.ts"
import type { FinalStatus } from "../domain/run/RunStatus.ts"
import type { RunSummary } from "../domain/run/RunSummary.ts"
import type { Counts, RunBucket } from "../domain/run/Statistics.ts"
import type { TeamName } from "../domain/Team.ts"
import type { RunPage, RunQuery } from "./RunQuery.ts"
import type { NewRun } from "./RunStore.ts"

/** Runs whose states are asked for. */
export interface StatesQuery {
  readonly run_ids: ReadonlyArray<RunId>
  /** Of these teams, the newest runs that are not finished, and that were accepted at or after `since`. */
  readonly teams: ReadonlyArray<TeamName>
  readonly since: DateTime.Utc
  /** How many runs of each team: those that wait, and those that were admitted. */
  readonly limit: number
}

/** A run with all that another one like it is made from. */
export type WholeRun = Run & Pick<NewRun, "layout">

/** Ended runs, as they are chosen to be repeated. */
export interface ReplayableQuery {
  /** Of this webhook, or of all webhooks that point at this team now, with its messages. */
  readonly of: { readonly webhook_id: WebhookId } | { readonly team: TeamName }
  readonly statuses: ReadonlyArray<FinalStatus>
  /** Accepted at or after. */
  readonly from?: DateTime.Utc
  /** Accepted before. */
  readonly to?: DateTime.Utc
  /** Runs with such an idempotency key count as if they were not there: neither repeated nor as the repeat of another. */
  readonly keyPrefix?: string
  readonly limit: number
}

/** Runs as people read them: one as a whole, several with long texts cut, which the driver does where the rows are. */
export class HistoryStore extends Context.Tag("webhook-trigger/HistoryStore")<
  HistoryStore,
  {
    readonly run: (id: RunId) => Effect.Effect<Run, NotFound | Unavailable>
    /**
     * Of one webhook in the order of acceptance; of all in the order of their ids, which carry the time. Takes half a second at
     * the most, and then gives what it has found, and a cursor to go on from. `NotFound`: there is no such webhook.
     */
    readonly runs: (query: RunQuery) => Effect.Effect<RunPage, NotFound | InvalidParameter | Unavailable>
    /** Several whole runs, in any order; missing ones are left out. Each text may have megabytes. */
    readonly runsByIds: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyArray<WholeRun>, Unavailable>
    /** Runs that repeat this one, newest first. */
    readonly replays: (id: RunId, limit: number) => Effect.Effect<ReadonlyArray<RunSummary>, Unavailable>
    /** Ended runs that no other run repeats, and that are not to be tried again, in the order of acceptance. */
    readonly replayable: (query: ReplayableQuery) => Effect.Effect<ReadonlyArray<RunId>, Unavailable>
    /**
     * A team's runs, newest first: of the webhooks that point at it now, and its chat messages. May leave out those behind a
     * thousand newer ones of the same webhook for another team.
     */
    readonly teamRuns: (team: TeamName, limit: number) => Effect.Effect<ReadonlyArray<RunSummary>, Unavailable>
    /** In the order of acceptance, each run once; those that are not there are left out. */
    readonly states: (query: StatesQuery) => Effect.Effect<ReadonlyArray<RunState>, Unavailable>
    /**
     * How the runs accepted since then ended, by webhook and by steps of time; empty steps are left out. `since` is a whole
     * hour of UTC, and `step` some hours; or a midnight, and some days. Hours reach back a week, days a month.
     */
    readonly activity: (
      since: DateTime.Utc,
      step: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<Counts & { readonly webhook_id: WebhookId; readonly bucket: number }>, Unavailable>
    /** The same of one webhook, with how long its runs took: to six binary digits, rounded down. */
    readonly statistics: (
      id: WebhookId,
      since: DateTime.Utc,
      step: Duration.Duration
    ) => Effect.Effect<ReadonlyArray<RunBucket>, Unavailable>
    /**
     * Does a portion of the work that keeps `activity` and `statistics` quick; true: there is more. What they count does not
     * depend on it, but for runs from before an upgrade, which are counted here first.
     */
    readonly rollUp: (now: DateTime.Utc) => Effect.Effect<boolean, Unavailable>
    /** A webhook's runs that hold a slot, and those that wait for one. */
    readonly slots: (
      id: WebhookId
    ) => Effect.Effect<{ readonly slots_in_use: number; readonly queued: number }, Unavailable>
    /**
     * Removes ended runs that finished before `before` and are not to be tried again, a portion of them; returns how many, 0
     * when there are none.
     */
    readonly purge: (before: DateTime.Utc) => Effect.Effect<number, Unavailable>
  }
>() {}
