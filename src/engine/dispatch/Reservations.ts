import { Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { LaneStore } from "../../repo/run/LaneStore.ts"
import type { LeaseLost } from "../../repo/run/LeaseStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { AcceptResult, AdmittingLanes } from "./CurrentLanes.ts"
import type { Flight } from "./Flights.ts"
import type { Lane } from "./Lane.ts"
import type { Lease } from "./Lease.ts"
import type { SlotLine } from "./SlotLine.ts"

/** Slots of runs that are admitted with their acceptance. */
export interface Reservations {
  readonly reserve: AdmittingLanes["reserve"]
  /** Runs whose acceptance the database did not answer. */
  readonly unknown: () => ReadonlyArray<RunId>
  /** The term is over: the next one finds out about those runs. */
  readonly close: () => void
}

interface Members {
  readonly laneOf: (team: TeamName) => Lane
  readonly advance: (lane: Lane) => void
  readonly follow: (lane: Lane, flight: Flight) => void
  readonly fork: (effect: Effect.Effect<void, LeaseLost>) => void
}

/** False turns this off (decision 0016): a run is admitted after its acceptance. */
const isEnabled: boolean = true

export const make = Effect.fnUntraced(function* (
  lease: Lease,
  line: SlotLine,
  { advance, follow, fork, laneOf }: Members
): Effect.fn.Return<Reservations, never, LaneStore> {
  const store = yield* LaneStore
  const clock = yield* Effect.clock

  /**
   * Reserved runs that may or may not be admitted. Until that is known, they keep their slots and places, and their
   * lanes admit no other run.
   */
  const unknown = new Map<RunId, Flight>()
  let isResolving = false

  const admitted = (flight: Flight): void => {
    const lane = laneOf(flight.run.team)
    lane.reservationEnded(flight)
    follow(lane, flight)
    advance(lane)
  }
  const notAdmitted = ({ run }: Flight): void => {
    const lane = laneOf(run.team)
    lane.reservationEnded()
    line.release(run)
    advance(lane)
    line.advance()
  }

  /**
   * A statement of this term can admit nothing in the next one. So once that has begun, the runs in flight are final.
   */
  const resolve: Effect.Effect<void, LeaseLost | Unavailable> = Effect.gen(function* () {
    const asked = [...unknown]
    yield* lease.nextTerm
    const inFlight = new Set((yield* store.inFlight).map(({ run_id }) => run_id))
    for (const [id, flight] of asked) {
      unknown.delete(id)
      if (inFlight.has(id)) admitted(flight)
      else notAdmitted(flight)
    }
    // Runs whose outcome has become unknown since then need another term.
    isResolving = unknown.size > 0
    if (isResolving) yield* resolve
  })

  const settle = (flight: Flight, result: AcceptResult): void => {
    const { run } = flight
    // The next term takes it over.
    if (line.isClosed) line.release(run)
    else if (result === "admitted") admitted(flight)
    else if (result !== "unknown") notAdmitted(flight)
    else {
      unknown.set(run.run_id, flight)
      // The row may exist: the lane reserves no slot for a later run before it has read the rows.
      laneOf(run.team).woken()
      if (isResolving) return
      isResolving = true
      fork(untilAvailable(resolve))
    }
  }

  return {
    reserve: (run) => {
      if (!isEnabled || line.isClosed || !laneOf(run.team).reserve(run)) return undefined
      const flight: Flight = { run, begunAt: stopwatch(clock) }
      return { settle: (result) => settle(flight, result) }
    },
    unknown: () => [...unknown.keys()],
    close: () => {
      for (const { run } of unknown.values()) line.release(run)
    }
  }
})
