/**
 * One team's lane: its runs strictly in order of acceptance. A plain state machine: its methods report what happened,
 * `next` returns the step to do, and the dispatcher does it.
 */
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { waitsForLeader } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { LaneRun } from "../../repo/run/LaneStore.ts"
import { type Flight, Flights, mayWaitForEarlier, type Publication } from "./Flights.ts"
import { LanePace, type Work } from "./LanePace.ts"

/** How many runs of a lane are read ahead. */
export const readAhead = 64
/** How many runs of a lane one commit admits: 174 runs a second from a backlog, 68 with a commit for each. */
const admittedTogether = 16

/** A step for the dispatcher, which reports the result to the lane's method of that name. */
export type Step =
  /** Read the next `readAhead` runs. */
  | { readonly _tag: "Read" }
  /** Ask whether the team has a leader: the next run is sent only to one. */
  | { readonly _tag: "AskForLeader" }
  /** Admit these runs, which have their slots. */
  | { readonly _tag: "Admit"; readonly runs: ReadonlyArray<LaneRun> }
  | ({ readonly _tag: "Publish" } & Publication)

/** Takes a run's slots if they are free; true for a run that needs none. */
export type TryAcquire = (run: LaneRun) => boolean

export class Lane {
  readonly team: TeamName
  /** Admitted and not ended. */
  readonly flights = new Flights()
  readonly #tryAcquire: TryAcquire
  readonly #pace = new LanePace()
  /** Read ahead: queued and not admitted, oldest first. */
  #waiting: Array<LaneRun> = []
  /** The rows may hold more than was read. */
  #more = false
  /** The runs read ahead may have changed. */
  #stale = false
  /** The step under way for runs that wait. */
  #taking: "Read" | "AskForLeader" | "Admit" | undefined
  /** Undefined: not asked yet. */
  #hasLeader: boolean | undefined
  /** The runs of the `Admit` under way. */
  #admitting: ReadonlyArray<LaneRun> = []
  #blocked = false
  /** Runs with slots that are admitted with their acceptance, which is under way. */
  #reserved = 0

  constructor(team: TeamName, tryAcquire: TryAcquire) {
    this.team = team
    this.#tryAcquire = tryAcquire
  }

  /** The run that waits for a slot, if the lane waits for one. */
  get blockedHead(): LaneRun | undefined {
    return this.#blocked ? this.#waiting[0] : undefined
  }

  /** The next run waits for a leader, and the broker had none when last asked. */
  get isStopped(): boolean {
    return this.#hasLeader === false && this.#waiting.length > 0
  }

  /** Nothing is queued, in flight or to be read. */
  get isIdle(): boolean {
    const { size } = this.flights
    return !this.isBusy && !this.#more && this.#waiting.length === 0 && size === 0 && this.#reserved === 0
  }

  /** A step is under way, or a prompt waits to be published. */
  get isBusy(): boolean {
    return this.#taking !== undefined || this.flights.isBusy
  }

  /** How many runs in flight keep the team busy. */
  get target(): number {
    return this.#pace.target
  }

  /**
   * The step to do now, returned once. Call it until it returns `undefined`. While runs are published, the next ones
   * are read and admitted. `mayAdmit`: false leaves waiting runs to `admitWithEnds`.
   */
  next(mayAdmit = true): Step | undefined {
    const publication = this.flights.publish()
    if (publication !== undefined) return { _tag: "Publish", ...publication }
    // A run that is being accepted is before any that could be read now.
    if (this.#taking !== undefined || this.#reserved > 0) return undefined
    if (this.#stale) this.#dropReadAhead()
    if (!mayAdmit && this.#waiting.length > 0) return undefined
    const runs = this.#admit(0)
    if (runs.length > 0) return { _tag: "Admit", runs }
    if (this.#headWaitsForLeader && this.#hasLeader === undefined) {
      this.#taking = "AskForLeader"
      return { _tag: "AskForLeader" }
    }
    if (this.#waiting.length > 0 || !this.#more) return undefined
    this.#more = false
    this.#taking = "Read"
    return { _tag: "Read" }
  }

  /**
   * The runs to admit in the commit that ends this many runs in flight, as by the step `Admit`; if there are any,
   * `admitted` must follow. They may use the slots of the ending runs.
   */
  admitWithEnds(ending: number): ReadonlyArray<LaneRun> {
    if (this.#taking !== undefined || this.#reserved > 0 || this.#stale) return []
    return this.#admit(ending)
  }

  /** There may be more in the rows, or a leader. */
  woken(): void {
    this.#more = true
    if (this.#hasLeader === false) this.#hasLeader = undefined
  }

  /**
   * A run was accepted and waits, behind `ahead` and the runs reported before it. It is not read if the lane knows all
   * of those.
   */
  accepted(run: LaneRun, ahead: ReadonlyArray<RunId> | undefined): void {
    // It was read before this process knew of its acceptance.
    if (this.#knows(run.run_id)) return
    const isComplete = !this.#more && !this.#stale && this.#taking !== "Read" && this.#waiting.length < readAhead
    if (isComplete && ahead?.every((id) => this.#knows(id))) this.#waiting.push(run)
    else this.woken()
  }

  askedForLeader(hasLeader: boolean): void {
    this.#taking = undefined
    this.#hasLeader = hasLeader
  }

  /** The runs read ahead must be read again. */
  changed(): void {
    this.#stale = true
  }

  read(runs: ReadonlyArray<LaneRun>): void {
    this.#taking = undefined
    this.#waiting = [...runs]
    if (runs.length === readAhead) this.#more = true
  }

  /**
   * These runs of the last `Admit` may be sent. The others ended or were deleted; or the team was paused, and they must
   * be read again before those behind them.
   */
  admitted(flights: ReadonlyArray<Flight>): void {
    this.#taking = undefined
    if (flights.length < this.#admitting.length) {
      this.#stale = true
      this.#more = true
    }
    this.#admitting = []
    for (const flight of flights) this.flights.add(flight)
  }

  /**
   * Takes the slots of a run that is about to be accepted, if it would be sent next: its acceptance can admit it.
   * `reservationEnded` must follow.
   */
  reserve(run: LaneRun): boolean {
    const isNext = !this.#more && this.#waiting.length === 0 && this.#taking === undefined
    if (!isNext || this.flights.size + this.#reserved >= this.target || !this.#tryAcquire(run)) return false
    this.#reserved++
    return true
  }

  /** `flight`: the run was accepted and admitted; otherwise the caller releases its slots. */
  reservationEnded(flight?: Flight): void {
    this.#reserved--
    if (flight !== undefined) this.flights.add(flight)
  }

  /** The broker certainly has them, or they need not be sent any more. */
  published(flights: ReadonlyArray<Flight>, now: number): void {
    this.flights.published(flights, now)
    for (const { begunAt, run } of flights) if (!mayWaitForEarlier(run)) this.#pace.handedOver(now - begunAt)
  }

  /** The run has ended, or is gone; returns it if it was in flight. `work`: when the team worked on it, if it did. */
  ended(id: RunId, work?: Work): Flight | undefined {
    const flight = this.flights.ended(id, work !== undefined)
    if (flight === undefined) this.#waiting = this.#waiting.filter(({ run_id }) => run_id !== id)
    else if (work !== undefined) this.#pace.worked(work)
    return flight
  }

  /** The webhooks' current limits, used when the head next asks for its slot. */
  limitsRead(limits: ReadonlyMap<WebhookId, number>): void {
    const head = this.#waiting[0]
    if (head?.webhook === undefined) return
    const { max_concurrent: _, ...webhook } = head.webhook
    const max_concurrent = limits.get(webhook.id)
    this.#waiting[0] = { ...head, webhook: { ...webhook, ...(max_concurrent !== undefined && { max_concurrent }) } }
  }

  #knows(id: RunId): boolean {
    const isIt = ({ run_id }: LaneRun) => run_id === id
    return this.flights.has(id) || this.#waiting.some(isIt) || this.#admitting.some(isIt)
  }

  #dropReadAhead(): void {
    this.#stale = false
    if (this.#waiting.length > 0) this.#more = true
    this.#waiting = []
  }

  get #headWaitsForLeader(): boolean {
    const head = this.#waiting[0]
    return head !== undefined && waitsForLeader(head) && this.#room(0) > 0
  }

  #room(ending: number): number {
    return Math.min(admittedTogether, this.target - (this.flights.size - ending) - this.#reserved)
  }

  #admit(ending: number): ReadonlyArray<LaneRun> {
    const runs = this.#takeReady(ending)
    if (runs.length > 0) {
      this.#taking = "Admit"
      this.#admitting = runs
    }
    return runs
  }

  /** The runs at the head that keep the team busy, have a leader if they need one, and have their slots. */
  #takeReady(ending: number): ReadonlyArray<LaneRun> {
    const room = this.#room(ending)
    let count = 0
    this.#blocked = false
    while (count < room && count < this.#waiting.length) {
      const run = this.#waiting[count]!
      if (waitsForLeader(run) && this.#hasLeader !== true) break
      if (!this.#tryAcquire(run)) {
        this.#blocked = true
        break
      }
      count++
    }
    const ready = this.#waiting.splice(0, count)
    // The broker is asked again for the next runs.
    if (this.#hasLeader && ready.some(waitsForLeader)) this.#hasLeader = undefined
    return ready
  }
}
