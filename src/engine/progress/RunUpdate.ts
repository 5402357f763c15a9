import type { DateTime } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { type StepReport, sizeOf } from "../../domain/run/Step.ts"
import { keptText, type ProgressNews } from "../../repo/run/ProgressStore.ts"

/** An update about a run. All its followers get the same object, so that it needs to be encoded only once. */
export type RunUpdate =
  | { readonly _tag: "Accepted"; readonly run_id: RunId }
  | { readonly _tag: "Started"; readonly run_id: RunId; readonly started_at?: DateTime.Utc }
  /** The text so far is void: the work started over, or the follower was too slow to receive all of it. */
  | { readonly _tag: "Restarted"; readonly position: number }
  | Progressed
  /** `text`: the progress that is still kept. */
  | { readonly _tag: "Ended"; readonly run: Run; readonly text: string }
  /** Nothing has happened for a while. */
  | { readonly _tag: "Idle" }

interface Progressed {
  readonly _tag: "Progressed"
  readonly position: number
  /** Appended to the text so far. */
  readonly text?: string
  readonly activity?: string
  readonly steps?: ReadonlyArray<StepReport>
}

/** A follower's place: one of these, or the position of its last progress, which is greater than a start. */
export const mark = { nothing: -1, accepted: 0, started: 1, ended: Number.POSITIVE_INFINITY } as const

/** The position in the progress; 0 is the beginning. */
export const positionOf = (received: number): number => (received > mark.started ? received : 0)

/** Progress that was read, as updates. */
interface ReadProgress {
  readonly position: number
  readonly restarted: Extract<RunUpdate, { readonly _tag: "Restarted" }>
  readonly updates: ReadonlyArray<Progressed>
}

export const toUpdates = ({ activity, kept_after, position, steps, texts }: ProgressNews): ReadProgress => {
  const updates = new Map<number, Progressed>()
  const add = (update: Progressed) => updates.set(update.position, { ...updates.get(update.position), ...update })
  for (const { position, text } of texts) add({ _tag: "Progressed", position, text })
  for (const report of steps) add({ _tag: "Progressed", ...report })
  // The newest activity is not older than the newest text that came without one.
  if (activity !== undefined) add({ _tag: "Progressed", position: activity.position, activity: activity.text })
  return {
    position,
    restarted: { _tag: "Restarted", position: kept_after },
    updates: [...updates.values()].sort((a, b) => a.position - b.position)
  }
}

/** All that is known of a run, or what was read of it last. */
export interface Known {
  readonly accepted: RunUpdate
  readonly started: RunUpdate | undefined
  readonly progress: ReadProgress | undefined
  readonly ended: RunUpdate | undefined
}

/** A follower's next updates. */
export interface Portion {
  readonly updates: ReadonlyArray<RunUpdate>
  /** The follower's place before. */
  readonly after: number
  /** The follower's place after it. */
  readonly received: number
  /** In characters; a short update counts as a few. */
  readonly size: number
  /** There is more. */
  readonly isPart: boolean
}

/** Characters after which a portion ends. A follower that reads slowly holds no more than one in memory. */
const portionSize = keptText / 4
const smallUpdate = 100

/** The updates for a follower that has received everything up to `received`. */
export const portionAfter = (received: number, { accepted, ended, progress, started }: Known): Portion => {
  const updates: Array<RunUpdate> = []
  let size = 0
  let last = received
  const add = (update: RunUpdate, position: number) => {
    updates.push(update)
    last = position
    size += smallUpdate
    if (update._tag !== "Progressed") return
    size += update.text?.length ?? 0
    for (const step of update.steps ?? []) size += sizeOf(step)
  }
  if (last < mark.accepted) add(accepted, mark.accepted)
  if (last < mark.started && started !== undefined) add(started, mark.started)
  if (progress !== undefined && progress.updates.length > 0) {
    const { position, restarted } = progress
    if (last > mark.started && (last < restarted.position || last > position)) add(restarted, restarted.position)
    for (const update of progress.updates) {
      if (update.position <= last) continue
      if (size >= portionSize) return { updates, after: received, received: last, size, isPart: true }
      add(update, update.position)
    }
  }
  if (ended !== undefined) add(ended, mark.ended)
  return { updates, after: received, received: last, size, isPart: false }
}
