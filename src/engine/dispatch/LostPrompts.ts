import type { RunId } from "../../domain/Id.ts"
import type { Flight } from "./Flights.ts"

/**
 * Why a lane suspects that prompts are lost. It then publishes nothing, so that no run overtakes one that may have to
 * be sent again.
 */
export class LostPrompts {
  #isHeld = false
  #suspect: RunId | undefined
  #passedOver: RunId | undefined
  /** Flights sent more than once: their copies may be answered in any order. */
  readonly #sentAgain = new WeakSet<Flight>()

  /** The broker is being asked which prompts it has. */
  hold(): void {
    this.#isHeld = true
  }

  /** `suspect`: this oldest sent run seems to be lost. */
  release(suspect?: RunId): void {
    this.#isHeld = false
    this.#suspect = suspect
  }

  /** Whether nothing may be published now. `isSent`: the oldest flight is not to be sent itself. */
  isHolding(oldest: Flight | undefined, isSent: boolean): boolean {
    return this.#isHeld || (oldest !== undefined && this.#suspect === oldest.run.run_id && isSent)
  }

  /** The team answered this flight. Teams take prompts in order, so an older one may be lost. */
  answered(flight: Flight, oldest: Flight): void {
    const isSentAgain = this.#sentAgain.has(oldest) || this.#sentAgain.has(flight)
    if (oldest !== flight && !isSentAgain) this.#passedOver = oldest.run.run_id
  }

  /** A flight behind the oldest one was answered before it. */
  isPassedOver(oldest: Flight | undefined): boolean {
    return this.#passedOver !== undefined && this.#passedOver === oldest?.run.run_id
  }

  sendAgain(flights: ReadonlyArray<Flight>): void {
    for (const flight of flights) this.#sentAgain.add(flight)
    this.#suspect = undefined
    this.#passedOver = undefined
  }
}
