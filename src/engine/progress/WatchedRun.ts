import { Cause, Effect } from "effect"
import { constVoid } from "effect/Function"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { RunNews } from "../../repo/run/ProgressStore.ts"
import { type Known, mark, type Portion, portionAfter, positionOf, type RunUpdate, toUpdates } from "./RunUpdate.ts"

/** A follower's next updates; it is `Done` when there are no more. */
export type Next = Effect.Effect<ReadonlyArray<RunUpdate>, Cause.Done>
const over: Next = Cause.done()

/**
 * One reader of a run. It is given updates only when it asks for them, so that of a slow one nothing is kept but what it has
 * received.
 */
export class Follower {
  received: number
  private isClosed = false
  private resume: ((next: Next) => void) | undefined

  constructor(received: number) {
    this.received = received
  }

  get isWaiting(): boolean {
    return this.resume !== undefined
  }

  /** Whether it gets nothing more. */
  get isOver(): boolean {
    return this.isClosed || this.received === mark.ended
  }

  wait(resume: (next: Next) => void): void {
    if (this.isOver) resume(over)
    else this.resume = resume
  }

  /** Does nothing if it does not wait any more, or has received something else meanwhile. */
  give({ after, received, updates }: Portion): void {
    if (!this.isWaiting || this.received !== after) return
    this.received = received
    this.send(updates)
  }

  send(updates: ReadonlyArray<RunUpdate>): void {
    const { resume } = this
    this.resume = undefined
    resume?.(Effect.succeed(updates))
  }

  close(): void {
    this.isClosed = true
    const { resume } = this
    this.resume = undefined
    resume?.(over)
  }
}

/** The part of a run to be read: everything after a position in its progress, or everything for its end. */
interface Question {
  readonly run: WatchedRun
  readonly position: number
  readonly ending: Run | undefined
}

/** A run with followers. */
export class WatchedRun {
  readonly id: RunId
  readonly followers = new Set<Follower>()
  /** Without progress until the end is known: then with all progress that is still kept. */
  known: Known
  /** The run as it ended, whose last progress is not read yet. */
  ending: Run | undefined
  /** It is read in the next round. */
  isHinted = true
  /** Until then it is not read, because its followers got a lot. By the stopwatch. */
  pausedUntil = 0
  /** Stops watching for its end. */
  stop: () => void = constVoid

  constructor(id: RunId) {
    this.id = id
    this.known = {
      accepted: { _tag: "Accepted", run_id: id },
      started: undefined,
      progress: undefined,
      ended: undefined
    }
  }

  get waiting(): ReadonlyArray<Follower> {
    return [...this.followers].filter(({ isWaiting }) => isWaiting)
  }

  /** Whether there is something to read, and someone who waits for it. */
  get isAwaited(): boolean {
    return this.ending !== undefined || (this.known.ended === undefined && this.waiting.length > 0)
  }

  start(started_at: Run["started_at"]): void {
    const started = { _tag: "Started", run_id: this.id, ...(started_at !== undefined && { started_at }) } as const
    this.known = { ...this.known, started: this.known.started ?? started }
  }

  /** The question for the followers that wait now. */
  ask(): Question {
    this.isHinted = false
    const positions = this.waiting.map(({ received }) => positionOf(received))
    return { run: this, ending: this.ending, position: this.ending === undefined ? Math.min(...positions) : 0 }
  }

  /** The portions for waiting followers, now that the question is answered. */
  learn({ ending, position }: Question, news: RunNews | undefined): ReadonlyArray<readonly [Follower, Portion]> {
    const progress = news?.progress && toUpdates(news.progress)
    const started_at = news?.started_at ?? ending?.started_at
    if (progress !== undefined || started_at !== undefined) this.start(started_at)
    if (ending !== undefined) {
      const text = (progress?.updates ?? []).map(({ text = "" }) => text).join("")
      this.known = { ...this.known, progress, ended: { _tag: "Ended", run: ending, text } }
      this.ending = undefined
    }
    return this.waiting.flatMap((follower) => {
      if (positionOf(follower.received) < position) return []
      const portion = portionAfter(follower.received, { ...this.known, progress })
      return portion.updates.length === 0 ? [] : [[follower, portion] as const]
    })
  }
}
