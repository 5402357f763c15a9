/** A team's work on a run, in milliseconds since the epoch: from its start, or its sending, to the arrival of its answer. */
export interface Work {
  readonly beganAt: number
  readonly doneAt: number
}

/** A team has at least this many runs in flight: the one in work, and the next. */
const leastInFlight = 2
/** A team has at most this many runs in flight, however short they are. */
const mostInFlight = 64
/** The shortest work, in milliseconds: the times of runs have no finer resolution. */
const shortestWork = 0.5
/** The weight of the newest measurement in an average. */
const weight = 0.2

/** How long a team's runs take, and how many in flight keep it busy. */
export class LanePace {
  /** Averages in milliseconds: from a run's admission to its confirmation, and of the team's work on a run. */
  #handOver = 0
  #work = Number.POSITIVE_INFINITY
  /** When the team was last known to be done with a run, in milliseconds since the epoch. */
  #doneAt = 0

  /**
   * How many runs keep the team busy (Little's law): the one in work, and those worked on between an answer and the next
   * hand-over. That takes one commit for the end and one for the admission: twice what an admission takes.
   */
  get target(): number {
    const ahead = Math.ceil((2 * this.#handOver) / Math.max(this.#work, shortestWork))
    return Math.min(mostInFlight, Math.max(leastInFlight, 1 + ahead))
  }

  /** The broker confirmed a run so many milliseconds after its admission began. */
  handedOver(took: number): void {
    this.#handOver = this.#handOver === 0 ? took : this.#handOver + (took - this.#handOver) * weight
  }

  worked({ beganAt, doneAt }: Work): void {
    // A run that was sent while the team worked on another began when that was done.
    const took = Math.max(0, doneAt - Math.max(beganAt, this.#doneAt))
    // Shorter work counts at once: answers that are recorded together seem to come at the same moment, and a team that
    // waits for its next prompt seems to work for longer.
    this.#work = took < this.#work ? took : this.#work + (took - this.#work) * weight
    this.#doneAt = Math.max(this.#doneAt, doneAt)
  }
}
