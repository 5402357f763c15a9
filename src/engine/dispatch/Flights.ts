import type { RunId } from "../../domain/Id.ts"
import type { LaneRun } from "../../repo/run/LaneStore.ts"
import { LostPrompts } from "./LostPrompts.ts"

/** Maximum number of a lane's runs that are published together, without waiting for each confirmation. */
const publishedTogether = 16
/** How long it may take, in milliseconds, until the rows show that a run was sent. */
const recordedWithin = 2_000

/** A run from its admission to its end. */
export interface Flight {
  readonly run: LaneRun
  /** When its admission began, in milliseconds. */
  readonly begunAt: number
}

/** Flights to publish in this order. `isBehind`: the broker has older ones, which these must not overtake. */
export interface Publication {
  readonly flights: ReadonlyArray<Flight>
  readonly isBehind: boolean
}

/** Whether the run may wait, after its admission, until earlier ones have ended. */
export const mayWaitForEarlier = ({ thread_key, webhook }: LaneRun): boolean =>
  thread_key !== undefined || webhook?.max_cost_per_day !== undefined

/** One team's runs in flight, oldest first, and their prompts. */
export class Flights {
  readonly #all = new Map<RunId, Flight>()
  /** Flights that may not be at the broker, oldest first. Some may have ended. */
  #unsent: Array<Flight> = []
  #publishing: ReadonlyArray<Flight> = []
  /** The last flights that the broker confirmed, and when (the milliseconds passed to `published`). */
  #lastPublished: { readonly flights: ReadonlyArray<Flight>; readonly at: number } = { flights: [], at: 0 }
  /** Ended and in flight, because their leaders are not done: these are not sent again. */
  readonly #unreleased = new Set<RunId>()
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

  /** Runs whose rows may not show yet that they were sent: not sent, or within the last `recordedWithin`. */
  notSent(now: number): ReadonlyArray<RunId> {
    const { at, flights } = this.#lastPublished
    const notSent = now - at < recordedWithin ? [...this.#unsent, ...flights] : this.#unsent
    return notSent.map(({ run }) => run.run_id)
  }

  /** The run that the broker has had longest, and how many it should have; none during a publication. */
  get sent(): { readonly head: RunId; readonly count: number } | undefined {
    const head = this.#oldest?.run.run_id
    const count = this.#all.size - this.#unsent.length
    return head === undefined || count === 0 || this.#publishing.length > 0 ? undefined : { head, count }
  }

  /** A later run was answered before the oldest one, which is sent again unless its answer is on its way. */
  get isPassedOver(): boolean {
    return this.#lost.isPassedOver(this.#oldest)
  }

  /** The run may be sent, now or again. */
  maySend(id: RunId): boolean {
    return this.#all.has(id) && !this.#unreleased.has(id)
  }

  add(flight: Flight): void {
    this.#all.set(flight.run.run_id, flight)
    this.#unsent.push(flight)
  }

  /** In flight since before this term, and not sent again. */
  addSent(flight: Flight): void {
    this.#all.set(flight.run.run_id, flight)
  }

  /**
   * The flights to publish now; `published` must follow. Only one publication is made at a time. A run of a thread waits
   * until the earlier runs with its key have ended, because its prompt names the agent's last session. A run with a
   * budget of cost waits for those of its webhook: it is not sent if they have used the budget up.
   */
  publish(): Publication | undefined {
    if (this.#unsent.length === 0 || this.#publishing.length > 0) return undefined
    const oldest = this.#oldest
    if (this.#lost.isHolding(oldest, oldest !== undefined && !this.#unsent.includes(oldest))) return undefined
    const next = this.#unsent.slice(0, publishedTogether)
    const held = next.findIndex((flight) => mayWaitForEarlier(flight.run) && this.#waitsForEarlier(flight))
    const flights = held === -1 ? next : next.slice(0, held)
    if (flights.length === 0) return undefined
    this.#publishing = flights
    return { flights, isBehind: oldest !== flights[0] }
  }

  /** All runs of a thread, and those of a webhook, are in one lane. */
  #waitsForEarlier(flight: Flight): boolean {
    const { thread_key, webhook } = flight.run
    for (const other of this.#all.values()) {
      if (other === flight) return false
      if (thread_key !== undefined && other.run.thread_key === thread_key) return true
      if (webhook?.max_cost_per_day !== undefined && other.run.webhook?.id === webhook.id) return true
    }
    return false
  }

  /** The broker certainly has them, or they need not be sent any more. */
  published(flights: ReadonlyArray<Flight>, now: number): void {
    this.#publishing = []
    this.#lastPublished = { flights, at: now }
    this.#unsent = this.#unsent.filter((other) => !flights.includes(other))
  }

  /** The queue was missing and is back without its prompts; like `sendAgain`. */
  queueReplaced(): ReadonlyArray<RunId> {
    this.#publishing = []
    return this.sendAgain()
  }

  /** Everything in flight is sent again, in order, as the same runs; except those that have ended, which are returned. */
  sendAgain(): ReadonlyArray<RunId> {
    this.#unsent = this.all.filter(({ run }) => !this.#unreleased.has(run.run_id))
    this.#lost.sendAgain(this.#unsent)
    return [...this.#unreleased]
  }

  /** Publishes nothing while the broker is asked which prompts it has. */
  hold(): void {
    this.#lost.hold()
  }

  /** `suspect`: this oldest sent run seems to be lost. Nothing is published until it has ended or was found. */
  release(suspect?: RunId): void {
    this.#lost.release(suspect)
  }

  /**
   * The run has ended, and is in flight until `ended`. `sent`: its leader has it, or may have it; `unsent`: it need not be
   * sent; `undefined`: it is not in flight.
   */
  unreleased(id: RunId): "sent" | "unsent" | undefined {
    const flight = this.#all.get(id)
    if (flight === undefined) return undefined
    this.#unreleased.add(id)
    const isUnsent = this.#unsent.includes(flight) && !this.#publishing.includes(flight)
    if (isUnsent) this.#forget(flight)
    return isUnsent ? "unsent" : "sent"
  }

  /** The run has ended and is released, or is gone. `isAnswered`: the team worked on it until then. */
  ended(id: RunId, isAnswered: boolean): Flight | undefined {
    const flight = this.#all.get(id)
    if (flight === undefined) return undefined
    const oldest = this.#oldest!
    this.#forget(flight)
    this.#all.delete(id)
    this.#unreleased.delete(id)
    if (isAnswered) this.#lost.answered(flight, oldest)
    return flight
  }

  /** It need not be sent any more; a publication under way goes on. */
  #forget(flight: Flight): void {
    if (this.#unsent.length > 0) this.#unsent = this.#unsent.filter((other) => other !== flight)
  }

  get #oldest(): Flight | undefined {
    return this.#all.values().next().value
  }
}
