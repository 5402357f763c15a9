import type { RunId } from "../../domain/Id.ts"
import type { LaneRun } from "../../repo/run/LaneStore.ts"
import type { Lane } from "./Lane.ts"
import type { Limiter, SlotRequest } from "./Limiter.ts"

/** Functions of the line's owner. */
interface Members {
  /** Does the lane's next steps. */
  readonly advance: (lane: Lane) => void
  /** Reports the end of this waiting run to the lane, until the returned function is called. */
  readonly watch: (lane: Lane, head: RunId) => () => void
}

/** The slots of all runs, and the line of lanes whose next run waits for one. A chat message needs none. */
export class SlotLine {
  readonly #limiter: typeof Limiter.Service
  readonly #members: Members
  /** The lane that has waited longest comes first. */
  readonly #heads = new Map<Lane, { readonly run_id: RunId; readonly unwatch: () => void }>()
  #isClosed = false

  constructor(limiter: typeof Limiter.Service, members: Members) {
    this.#limiter = limiter
    this.#members = members
  }

  /** The lanes in line, the one that has waited longest first. */
  get lanes(): ReadonlyArray<Lane> {
    return [...this.#heads.keys()]
  }

  /** The lanes that may get a slot, in turn. Once all slots are taken, the thousands behind them are not asked. */
  *candidates(): Iterable<Lane> {
    for (const lane of this.lanes) {
      if (!this.#limiter.isFull() || lane.blockedHead?.webhook?.max_concurrent !== undefined) yield lane
    }
  }

  /** The term is over, and no lane gets a slot. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Takes the run's slots if they are free; true for a run that needs none. */
  readonly tryAcquire = (run: LaneRun): boolean => run.webhook === undefined || this.#limiter.tryAcquire(slotOf(run))

  /** Takes the run's slots regardless of the limits. */
  hold(run: LaneRun): void {
    if (run.webhook !== undefined) this.#limiter.hold(slotOf(run))
  }

  /** Releases the run's slots. */
  release(run: LaneRun): void {
    if (run.webhook !== undefined) this.#limiter.release(slotOf(run))
  }

  /** Puts the lane in line if its next run waits for a slot, without changing its place; otherwise removes it. */
  update(lane: Lane): void {
    const head = lane.blockedHead
    const before = this.#heads.get(lane)
    if (head?.run_id === before?.run_id) return
    before?.unwatch()
    if (head === undefined) this.#heads.delete(lane)
    else this.#heads.set(lane, { run_id: head.run_id, unwatch: this.#members.watch(lane, head.run_id) })
  }

  /** The lane got slots. For its next ones it goes to the end of the line. */
  leave(lane: Lane): void {
    this.#heads.get(lane)?.unwatch()
    this.#heads.delete(lane)
  }

  /** Gives free slots to the lanes that have waited longest. */
  advance(): void {
    if (this.#isClosed) return
    for (const lane of this.candidates()) this.#members.advance(lane)
  }

  close(): void {
    this.#isClosed = true
    for (const lane of this.lanes) this.leave(lane)
  }
}

const slotOf = ({ team, webhook }: LaneRun): SlotRequest => ({
  webhook: webhook!.id,
  team,
  maxConcurrent: webhook!.max_concurrent
})
