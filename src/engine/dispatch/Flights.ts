import type { RunId } from "../../domain/Id.ts"
import type { LaneRun } from "../../repo/LaneStore.ts"
import { LostPrompts } from "./LostPrompts.ts"

/** Runs of a lane that are published together, each without waiting for the confirmation of the one before. */
const publishedTogether = 16
/** How long it may take, in milliseconds, until the rows know that a run was sent. */
const recordedWithin = 2_000

/** A run from its admission to its end. */
export interface Flight {
  readonly run: LaneRun
  /** When its admission began, in milliseconds. */
  readonly begunAt: number
}

/** Flights to be published in this order. `isBehind`: the broker has older ones, which these must not pass. */
export interface Publication {
  readonly flights: ReadonlyArray<Flight>
  readonly isBehind: boolean
}

/** One team's runs in flight, oldest first, and their prompts. */
export class Flights {
  readonly #all = new Map<RunId, Flight>()
  /** Flights whose prompts the broker does not have for certain, oldest first; some may have ended. */
  #unsent: Array<Flight> = []
  #publishing: ReadonlyArray<Flight> = []
  /** The last flights that the broker confirmed, and when, in the milliseconds of `published`. */
  #lastPublished: { readonly flights: ReadonlyArray<Flight>; readonly at: number } = { flights: [], at: 0 }
  /** Cancelled and in flight: these are not sent again. */
  readonly #cancelled = new Set<RunId>()
  readonly #lost = new LostPrompts()

  get size(): number {
    return this.#all.size
  }

  get ids(): ReadonlyArray<RunId> {
    return [...this.#all.keys()]
  }

  get all(): ReadonlyArray<Flight> {
    return [...this.#all.values()]
  }

  get(id: RunId): Flight | undefined {
    return this.#all.get(id)
  }

  has(id: RunId): boolean {
    return this.#all.has(id)
  }

  /** A prompt is being published, or waits to be. */
  get isBusy(): boolean {
    return this.#publishing.length > 0 || this.#unsent.length > 0
  }

  /** Runs whose rows may not know yet that they were sent: they were not, or within the last `recordedWithin`. */
  notSent(now: number): ReadonlyArray<RunId> {
    const { at, flights } = this.#lastPublished
    const notSent = now - at < recordedWithin ? [...this.#unsent, ...flights] : this.#unsent
    return notSent.map(({ run }) => run.run_id)
  }

  /** The run that the broker has had for longest, and how many it should have; none during a publication. */
  get sent(): { readonly head: RunId; readonly count: number } | undefined {
    const head = this.#oldest?.run.run_id
    const count = this.#all.size - this.#unsent.length
    return head === undefined || count === 0 || this.#publishing.length > 0 ? undefined : { head, count }
  }

  /** A later run was answered before the oldest one, which is to be sent again unless its answer is on its way. */
  get isPassedOver(): boolean {
    return this.#lost.isPassedOver(this.#oldest)
  }

  /** The run may be sent, now or again. */
  maySend(id: RunId): boolean {
    return this.#all.has(id) && !this.#cancelled.has(id)
  }

  add(flight: Flight): void {
    this.#all.set(flight.run.run_id, flight)
    this.#unsent.push(flight)
  }

  /** In flight since before this term, and not to be sent again. */
  addSent(flight: Flight): void {
    this.#all.set(flight.run.run_id, flight)
  }

  /** The flights that are to be published now; to be followed by `published`. Only one publication is made at a time. */
  publish(): Publication | undefined {
    if (this.#unsent.length === 0 || this.#publishing.length > 0) return undefined
    const oldest = this.#oldest
    if (this.#lost.isHolding(oldest, oldest !== undefined && !this.#unsent.includes(oldest))) return undefined
    const flights = this.#unsent.slice(0, publishedTogether)
    this.#publishing = flights
    return { flights, isBehind: oldest !== flights[0] }
  }

  /** The broker has them for good, or they need not be sent any more. */
  published(flights: ReadonlyArray<Flight>, now: number): void {
    this.#publishing = []
    this.#lastPublished = { flights, at: now }
    this.#unsent = this.#unsent.filter((other) => !flights.includes(other))
  }

  /** The queue was missing and is back without its prompts; as `sendAgain`. */
  queueReplaced(): ReadonlyArray<RunId> {
    this.#publishing = []
    return this.sendAgain()
  }

  /** Everything in flight is sent again, in order, as the same runs; except the cancelled ones, which are returned. */
  sendAgain(): ReadonlyArray<RunId> {
    this.#unsent = this.all.filter(({ run }) => !this.#cancelled.has(run.run_id))
    this.#lost.sendAgain(this.#unsent)
    return [...this.#cancelled]
  }

  /** Publishes nothing while the broker is asked which prompts it has. */
  hold(): void {
    this.#lost.hold()
  }

  /** `suspect`: this oldest run of those sent seems to be lost; nothing is published until it has ended or was found. */
  release(suspect?: RunId): void {
    this.#lost.release(suspect)
  }

  /**
   * The run was cancelled, and is in flight until `ended`. `sent`: its leader has it, or may have it; `unsent`: it need not
   * be sent any more; `undefined`: it is not in flight.
   */
  cancelled(id: RunId): "sent" | "unsent" | undefined {
    const flight = this.#all.get(id)
    if (flight === undefined) return undefined
    this.#cancelled.add(id)
    const isUnsent = this.#unsent.includes(flight) && !this.#publishing.includes(flight)
    if (isUnsent) this.#unsent = this.#unsent.filter((other) => other !== flight)
    return isUnsent ? "unsent" : "sent"
  }

  /** The run has ended, or is gone. `isAnswered`: the team worked on it until then. */
  ended(id: RunId, isAnswered: boolean): Flight | undefined {
    const flight = this.#all.get(id)
    if (flight === undefined) return undefined
    const oldest = this.#oldest!
    this.#all.delete(id)
    this.#cancelled.delete(id)
    if (isAnswered) this.#lost.answered(flight, oldest)
    return flight
  }

  get #oldest(): Flight | undefined {
    return this.#all.values().next().value
  }
}
