import { Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type LaneRun, LaneStore } from "../../repo/LaneStore.ts"
import type { LeaseLost } from "../../repo/LeaseStore.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import type { Flight, Lane } from "./Lane.ts"
import type { Lease } from "./Lease.ts"
import type { SlotLine } from "./SlotLine.ts"

/**
 * What became of a run that was to be accepted: it was admitted with its acceptance; it waits in its lane; it was not stored;
 * or that is not known, because the database did not answer.
 */
export type LaneState = "admitted" | "waits" | "notStored" | "unknown"

/** Slots of runs that are about to be accepted, and admitted with the same commit. */
export interface Reservations {
  /** Takes the slots of a run that is about to be accepted, when it would be the next to be sent. */
  readonly reserve: (run: LaneRun) => boolean
  /** What became of a run that has a reservation. */
  readonly reservationEnded: (run: LaneRun, result: LaneState) => void
  /** The runs whose outcome the database has not reported. */
  readonly unknown: () => ReadonlyArray<RunId>
  /** Asks what became of those, unless that is being asked. */
  readonly resolveUnknown: () => void
  /** The term is over: what became of those is for the next one to find out. */
  readonly close: () => void
}

interface Members {
  readonly laneOf: (team: TeamName) => Lane
  readonly drive: (lane: Lane) => void
  readonly follow: (lane: Lane, flight: Flight) => void
  readonly fork: (effect: Effect.Effect<void, LeaseLost>) => void
}

export const make = Effect.fnUntraced(function* (
  lease: Lease,
  line: SlotLine,
  { drive, follow, fork, laneOf }: Members
): Effect.fn.Return<Reservations, never, LaneStore> {
  const store = yield* LaneStore
  const clock = yield* Effect.clock

  /** When the admission of each run that has a reservation began. */
  const begun = new Map<RunId, number>()
  /**
   * Reserved runs whose acceptance was not answered. They may be admitted. Until that is known, they keep their slots and
   * their place, and their lanes admit no other run.
   */
  const unknown = new Map<RunId, { readonly run: LaneRun; readonly begunAt: number }>()
  let isResolving = false

  const admitted = (run: LaneRun, begunAt: number): void => {
    const lane = laneOf(run.team)
    const flight: Flight = { run, begunAt }
    lane.reservationEnded(flight)
    follow(lane, flight)
    drive(lane)
  }
  const notAdmitted = (run: LaneRun): void => {
    const lane = laneOf(run.team)
    lane.reservationEnded()
    line.release(run)
    drive(lane)
    line.advance()
  }

  /**
   * In the next term, an acceptance that the database still has, or will get, admits nothing. So the runs admitted by then
   * are final.
   */
  const resolve: Effect.Effect<void, LeaseLost | Unavailable> = Effect.gen(function* () {
    const asked = [...unknown]
    yield* lease.nextTerm
    const inFlight = new Set((yield* store.inFlight).map(({ run_id }) => run_id))
    for (const [id, { run, begunAt }] of asked) {
      unknown.delete(id)
      if (inFlight.has(id)) admitted(run, begunAt)
      else notAdmitted(run)
    }
    // In one step with the look at what is left: what becomes unknown after that is resolved anew.
    isResolving = unknown.size > 0
    if (isResolving) yield* resolve
  })
  const resolveUnknown = (): void => {
    if (isResolving || unknown.size === 0) return
    isResolving = true
    fork(untilAvailable(resolve))
  }

  const reservationEnded: Reservations["reservationEnded"] = (run, result) => {
    const begunAt = begun.get(run.run_id) ?? stopwatch(clock)
    begun.delete(run.run_id)
    // After this term it is the next one's.
    if (line.isClosed) return line.release(run)
    switch (result) {
      case "admitted":
        return admitted(run, begunAt)
      case "unknown":
        unknown.set(run.run_id, { run, begunAt })
        // It may be in the rows: no later run of its team gets a reservation before they were read.
        laneOf(run.team).woken()
        return resolveUnknown()
      case "waits":
      case "notStored":
        return notAdmitted(run)
    }
  }

  return {
    reserve: (run) => {
      if (line.isClosed || !laneOf(run.team).reserve(run)) return false
      begun.set(run.run_id, stopwatch(clock))
      return true
    },
    reservationEnded,
    unknown: () => [...unknown.keys()],
    resolveUnknown,
    close: () => {
      for (const { run } of unknown.values()) line.release(run)
    }
  }
})
