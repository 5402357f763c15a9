import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Progress } from "../../domain/run/Progress.ts"
import type { Step, StepReport } from "../../domain/run/Step.ts"

/** What the leader of a run has reported since the last time, merged. */
export interface ProgressReport extends Progress {
  readonly run_id: RunId
  /** The numbers of the first and the last merged report. */
  readonly first_seq: number
  readonly seq: number
}

/** How far the progress of a run was read: 0 is the beginning. */
export interface ProgressMark {
  readonly run_id: RunId
  readonly position: number
}

export interface ProgressText {
  /** At its end. */
  readonly position: number
  readonly text: string
}

interface ProgressSteps {
  readonly position: number
  readonly steps: ReadonlyArray<StepReport>
}

/** What was reported after a mark. */
export interface ProgressNews {
  readonly position: number
  /** The text up to here is gone: it is no longer kept, or the work started over. */
  readonly kept_after: number
  readonly texts: ReadonlyArray<ProgressText>
  readonly activity?: ProgressText
  /** Also from before `kept_after`. */
  readonly steps: ReadonlyArray<ProgressSteps>
}

export interface RunNews {
  readonly run_id: RunId
  readonly started_at?: DateTime.Utc
  /** Absent if nothing was reported after the mark. */
  readonly progress?: ProgressNews
}

/** The newest text that is kept of a run, in characters. A report counts as at least `shortestReport` of them. */
export const keptText = 256 * 1024
export const shortestReport = 64

/**
 * What leaders report while they work, kept until shortly after the run's end. It is transient: a crash of the database may
 * lose all of it but the steps, which are kept with the run.
 */
export class ProgressStore extends Context.Service<
  ProgressStore,
  {
    /**
     * Appends reports, at most one of each run, and does nothing for runs that have ended. Positions grow, also after all
     * progress was lost. A report whose first number is not above the last one's shows that the work started over: it
     * replaces the text so far. Steps are added for a minute after the run's end, too, and until it is released. Of more
     * than `keptSteps`, the oldest lose their details first, then they are removed.
     */
    readonly addProgress: (reports: ReadonlyArray<ProgressReport>) => Effect.Effect<void, Unavailable>
    /** What there is after the marks, of the runs that exist. A mark that is beyond the last position counts as 0. */
    readonly newsOf: (marks: ReadonlyArray<ProgressMark>) => Effect.Effect<ReadonlyArray<RunNews>, Unavailable>
    /** The steps of the runs that have any. */
    readonly stepsOf: (ids: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyMap<RunId, ReadonlyArray<Step>>, Unavailable>
    /** Removes a portion of the steps that were reported before. Returns how many reports. */
    readonly removeSteps: (reportedBefore: DateTime.Utc) => Effect.Effect<number, Unavailable>
    /** Removes the progress of runs that ended before, or no longer exist. */
    readonly removeProgress: (endedBefore: DateTime.Utc) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/ProgressStore") {}
