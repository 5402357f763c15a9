/**
 * One team's lane: its runs strictly in order of acceptance. A plain state machine: its methods report what happened,
 * `next` says what is to be done about it, and the dispatcher does that.
 */
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { waitsForLeader } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { LaneRun } from "../../repo/LaneStore.ts"

/** Runs of a lane that are read ahead. */
export const readAhead = 64
/** Runs of a lane that are admitted by one commit: 174 runs a second from a backlog, 68 when each has a commit. */
const admittedTogether = 16
/** Runs of a lane that are published together, each without waiting for the confirmation of the one before. */
const publishedTogether = 16
/** A team has at least so many runs in flight: the one in work, and the next. */
const leastInFlight = 2
/** And at most so many, however short its runs are. */
const mostInFlight = 64
/** Work is not measured to be shorter, in milliseconds: the times of runs have no finer resolution. */
const shortestWork = 0.5
/** How long it may take, in milliseconds, until the rows know that a run was sent. */
const recordedWithin = 2_000
/** What the newest measurement weighs in an average. */
const weight = 0.2

/** A run from its admission to its end. */
export interface Flight {
  readonly run: LaneRun
  /** When its admission began, in milliseconds. */
  readonly begunAt: number
}

/** A team's work on a run, in milliseconds since the epoch: from its start, or its sending, to the arrival of its answer. */
export interface Work {
  readonly beganAt: number
  readonly doneAt: number
}

/** What is to be done next, by the dispatcher; it reports the result to the lane's method of that name. */
export type Step =
  /** Read the next `readAhead` runs. */
  | { readonly _tag: "Read" }
  /** Ask whether the team has a leader: the next run is sent only to one. */
  | { readonly _tag: "AskForLeader" }
  /** Admit these runs, which have their slots. */
  | { readonly _tag: "Admit"; readonly runs: ReadonlyArray<LaneRun> }
  /**
   * Publish the runs, in this order. `isBehind`: older ones are with the broker; were they lost, they would have to be sent
   * again before these.
   */
  | { readonly _tag: "Publish"; readonly flights: ReadonlyArray<Flight>; readonly isBehind: boolean }

/** Takes a run's slots if they are free; true for a run that needs none. */
export type TryAcquire = (run: LaneRun) => boolean

export class Lane {
  readonly team: TeamName
  readonly #tryAcquire: TryAcquire
  /** Read ahead: queued and not admitted, oldest first. */
  #waiting: Array<LaneRun> = []
  /** Admitted and not ended, oldest first. */
  readonly #flights = new Map<RunId, Flight>()
  /** Those of them that the broker does not have for certain, oldest first. */
  #unsent: Array<Flight> = []
  /** The rows may hold more than was read. */
  #more = false
  /** What was read ahead is no longer as it was read. */
  #stale = false
  /** The last that the broker was given, and when, in the milliseconds of `published`. */
  #lastPublished: { readonly flights: ReadonlyArray<Flight>; readonly at: number } = { flights: [], at: 0 }
  /** Being done, so that runs can be admitted. */
  #taking: "Read" | "AskForLeader" | "Admit" | undefined
  /** Undefined: it is to be asked. */
  #hasLeader: boolean | undefined
  /** The runs of the `Admit` that is being done. */
  #admitting: ReadonlyArray<LaneRun> = []
  /** Being published. */
  #publishing: ReadonlyArray<Flight> = []
  /** In flight, and cancelled: not to be sent again. */
  readonly #cancelled = new Set<RunId>()
  #isHeld = false
  /** The oldest run in flight, after something made it seem lost. */
  #suspect: RunId | undefined
  /** The oldest run in flight, after the answer to one that was published behind it. */
  #passedOver: RunId | undefined
  /** Sent more than once: copies of them may be answered in any order. */
  readonly #sentAgain = new WeakSet<Flight>()
  #blocked = false
  /** Runs that are being accepted and admitted in one, with their slots. */
  #reserved = 0
  /** Averages in milliseconds: from a run's admission to its confirmation, and of the team's work on a run. */
  #handOver = 0
  #work = Number.POSITIVE_INFINITY
  /** When the team was last known to be done with a run, in milliseconds since the epoch. */
  #doneAt = 0

  constructor(team: TeamName, tryAcquire: TryAcquire) {
    this.team = team
    this.#tryAcquire = tryAcquire
  }

  get flights(): ReadonlyMap<RunId, Flight> {
    return this.#flights
  }

  /** The run that waits for a slot, when that is what the lane waits for. */
  get blockedHead(): LaneRun | undefined {
    return this.#blocked ? this.#waiting[0] : undefined
  }

  /** Its next run waits for a leader, of which there was none when it was asked last. */
  get isStopped(): boolean {
    return this.#hasLeader === false && this.#waiting.length > 0
  }

  /** Nothing is queued, in flight or to be read. */
  get isIdle(): boolean {
    const { size } = this.#flights
    return !this.isBusy && !this.#more && this.#waiting.length === 0 && size === 0 && this.#reserved === 0
  }

  /** Something is being done, or waits to be. */
  get isBusy(): boolean {
    return this.#taking !== undefined || this.#publishing.length > 0 || this.#unsent.length > 0
  }

  /** Runs in flight that the rows need not know to be sent: they are not, or were within the last `recordedWithin`. */
  notSent(now: number): ReadonlyArray<RunId> {
    const { at, flights } = this.#lastPublished
    const flightsNotSent = now - at < recordedWithin ? [...this.#unsent, ...flights] : this.#unsent
    return flightsNotSent.map(({ run }) => run.run_id)
  }

  /** The run that the broker has had for longest, and how many it should have; none while it is given some. */
  get sent(): { readonly head: RunId; readonly count: number } | undefined {
    const head = this.#oldest?.run.run_id
    const count = this.#flights.size - this.#unsent.length
    return head === undefined || count === 0 || this.#publishing.length > 0 ? undefined : { head, count }
  }

  /**
   * A run that was published behind the oldest one in flight was answered before it, although the team takes them in order:
   * the oldest one is to be sent again, unless its answer is on its way.
   */
  get isPassedOver(): boolean {
    return this.#passedOver !== undefined && this.#passedOver === this.#oldest?.run.run_id
  }

  /**
   * How many runs keep the team busy (Little's law): the one in work, and as many as are worked on from one's answer until
   * another is handed over. That takes one commit for the end and one for the admission: twice what an admission takes.
   */
  get target(): number {
    const ahead = Math.ceil((2 * this.#handOver) / Math.max(this.#work, shortestWork))
    return Math.min(mostInFlight, Math.max(leastInFlight, 1 + ahead))
  }

  /**
   * What is to be done now, to be asked for until it is `undefined`: nothing, until something happens. Each step is given
   * out once. While a run is published, the next ones are read and admitted. `mayAdmit`: false keeps the runs that wait where
   * they are, for `takeBehind`.
   */
  next(mayAdmit = true): Step | undefined {
    if (this.#unsent.length > 0 && this.#publishing.length === 0 && !this.#isHeldBack) {
      const flights = this.#unsent.slice(0, publishedTogether)
      this.#publishing = flights
      return { _tag: "Publish", flights, isBehind: this.#oldest !== flights[0] }
    }
    // What is being accepted stands before anything that could be read now.
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
   * The runs that can be admitted with the commit that ends so many of those in flight, as by the step `Admit`; to be followed
   * by `admitted`, if there are any. The slots of those that end are free for them.
   */
  takeBehind(ending: number): ReadonlyArray<LaneRun> {
    if (this.#taking !== undefined || this.#reserved > 0 || this.#stale) return []
    return this.#admit(ending)
  }

  /** There may be more in the rows, or a leader. */
  woken(): void {
    this.#more = true
    if (this.#hasLeader === false) this.#hasLeader = undefined
  }

  /** A run was accepted and waits, behind `ahead` and what was reported before it. If it knows those, it need not be read. */
  accepted(run: LaneRun, ahead: ReadonlyArray<RunId> | undefined): void {
    // It was read before this process knew that it is accepted.
    if (this.#knows(run.run_id)) return
    const isComplete = !this.#more && !this.#stale && this.#taking !== "Read" && this.#waiting.length < readAhead
    if (isComplete && ahead?.every((id) => this.#knows(id))) this.#waiting.push(run)
    else this.woken()
  }

  askedForLeader(hasLeader: boolean): void {
    this.#taking = undefined
    this.#hasLeader = hasLeader
  }

  /** What was read ahead is to be read again. */
  changed(): void {
    this.#stale = true
  }

  read(runs: ReadonlyArray<LaneRun>): void {
    this.#taking = undefined
    this.#waiting = [...runs]
    if (runs.length === readAhead) this.#more = true
  }

  /**
   * These runs of the last `Admit` may be sent. The others have ended meanwhile, or were deleted; or the team was paused, and
   * they are to be read again before those behind them.
   */
  admitted(flights: ReadonlyArray<Flight>): void {
    this.#taking = undefined
    if (flights.length < this.#admitting.length) {
      this.#stale = true
      this.#more = true
    }
    this.#admitting = []
    for (const flight of flights) {
      this.#flights.set(flight.run.run_id, flight)
      this.#unsent.push(flight)
    }
  }

  /**
   * Takes the slots of a run that is about to be accepted, when it would be the next to be sent: it can then be admitted
   * with its acceptance. To be followed by `reservationEnded`.
   */
  reserve(run: LaneRun): boolean {
    const nothingBefore = !this.#more && this.#waiting.length === 0 && this.#taking === undefined
    if (!nothingBefore || this.#flights.size + this.#reserved >= this.target || !this.#tryAcquire(run)) return false
    this.#reserved++
    return true
  }

  /** `flight`: the run was accepted and admitted; else its slots are the caller's to give back. */
  reservationEnded(flight?: Flight): void {
    this.#reserved--
    if (flight === undefined) return
    this.#flights.set(flight.run.run_id, flight)
    this.#unsent.push(flight)
  }

  /** The broker has them for good, or they need not be sent any more. */
  published(flights: ReadonlyArray<Flight>, now: number): void {
    this.#publishing = []
    this.#lastPublished = { flights, at: now }
    this.#unsent = this.#unsent.filter((other) => !flights.includes(other))
    for (const { begunAt } of flights) {
      const took = now - begunAt
      this.#handOver = this.#handOver === 0 ? took : this.#handOver + (took - this.#handOver) * weight
    }
  }

  /**
   * The queue is back after it was missing. What was in it went with it: whatever has not been answered is sent again, as
   * the same runs.
   */
  queueReplaced(): ReadonlyArray<RunId> {
    this.#publishing = []
    return this.sendAgain()
  }

  /** All that is in flight is sent again, in order, as the same runs; but for the cancelled ones, which are returned. */
  sendAgain(): ReadonlyArray<RunId> {
    this.#unsent = [...this.#flights.values()].filter(({ run }) => !this.#cancelled.has(run.run_id))
    for (const flight of this.#unsent) this.#sentAgain.add(flight)
    this.#suspect = undefined
    this.#passedOver = undefined
    return [...this.#cancelled]
  }

  /** Publishes nothing while the broker is asked what it has. */
  hold(): void {
    this.#isHeld = true
  }

  /** `suspect`: this oldest run of those sent seems to be lost; nothing is published before it has ended, or that is known. */
  release(suspect?: RunId): void {
    this.#isHeld = false
    this.#suspect = suspect
  }

  /** The run is in flight and may be sent, now or again. */
  maySend(id: RunId): boolean {
    return this.#flights.has(id) && !this.#cancelled.has(id)
  }

  /**
   * The run was cancelled, and is in flight until `ended`. `sent`: its leader has it, or may have it; `unsent`: it need not
   * be sent any more; `undefined`: it is not in flight.
   */
  cancelled(id: RunId): "sent" | "unsent" | undefined {
    const flight = this.#flights.get(id)
    if (flight === undefined) return undefined
    this.#cancelled.add(id)
    const isUnsent = this.#unsent.includes(flight) && !this.#publishing.includes(flight)
    if (isUnsent) this.#unsent = this.#unsent.filter((other) => other !== flight)
    return isUnsent ? "unsent" : "sent"
  }

  /** In flight since before this term; `sent`: it is known to be with a broker that outlives its clients. */
  takenOver(flight: Flight, sent: boolean): void {
    this.#flights.set(flight.run.run_id, flight)
    if (!sent) this.#unsent.push(flight)
  }

  /** The run has ended, or is gone; gives the flight back if it was one. `work`: when the team worked on it, if it did. */
  ended(id: RunId, work?: Work): Flight | undefined {
    const flight = this.#flights.get(id)
    if (flight === undefined) {
      this.#waiting = this.#waiting.filter(({ run_id }) => run_id !== id)
      return undefined
    }
    const oldest = this.#oldest!
    this.#flights.delete(id)
    this.#cancelled.delete(id)
    if (work !== undefined) {
      const isAgain = this.#sentAgain.has(oldest) || this.#sentAgain.has(flight)
      if (oldest !== flight && !isAgain) this.#passedOver = oldest.run.run_id
      // What was sent while another was in work began when that was done.
      const took = Math.max(0, work.doneAt - Math.max(work.beganAt, this.#doneAt))
      // Short work is believed at once: answers that are recorded together seem to come at the same moment, and a team that
      // has to wait for its next prompt seems to work for longer.
      this.#work = took < this.#work ? took : this.#work + (took - this.#work) * weight
      this.#doneAt = Math.max(this.#doneAt, work.doneAt)
    }
    return flight
  }

  /** The limits of the heads' webhooks as they are now, by which the next slot is asked for. */
  headLimitRead(limits: ReadonlyMap<WebhookId, number>): void {
    const head = this.#waiting[0]
    if (head?.webhook === undefined) return
    const { id, name } = head.webhook
    const max_concurrent = limits.get(id)
    this.#waiting[0] = { ...head, webhook: { id, name, ...(max_concurrent !== undefined && { max_concurrent }) } }
  }

  get #oldest(): Flight | undefined {
    return this.#flights.values().next().value
  }

  #knows(id: RunId): boolean {
    const isIt = ({ run_id }: LaneRun) => run_id === id
    return this.#flights.has(id) || this.#waiting.some(isIt) || this.#admitting.some(isIt)
  }

  get #isHeldBack(): boolean {
    if (this.#isHeld) return true
    // What is to be sent itself is not lost.
    const oldest = this.#oldest
    return oldest !== undefined && this.#suspect === oldest.run.run_id && !this.#unsent.includes(oldest)
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
    return Math.min(admittedTogether, this.target - (this.#flights.size - ending) - this.#reserved)
  }

  #admit(ending: number): ReadonlyArray<LaneRun> {
    const runs = this.#takeReady(ending)
    if (runs.length > 0) {
      this.#taking = "Admit"
      this.#admitting = runs
    }
    return runs
  }

  /** The runs at the head that keep the team busy, have a leader if they wait for one, and have their slots. */
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
    // It is asked again for the next ones.
    if (this.#hasLeader && ready.some(waitsForLeader)) this.#hasLeader = undefined
    return ready
  }
}
