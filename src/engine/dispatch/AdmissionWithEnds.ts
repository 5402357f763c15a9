import { DateTime, Effect } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { endsWork } from "../../domain/run/Run.ts"
import type { LeaseLost } from "../../repo/run/LeaseStore.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"
import { type AdmissionWithEnds, type AdmitWithEnds, Outcomes } from "../outcome/Outcomes.ts"
import type { Flight } from "./Flights.ts"
import type { Lane } from "./Lane.ts"
import type { LaneAdmission, Ready } from "./LaneAdmission.ts"
import type { Lease } from "./Lease.ts"
import type { SlotLine } from "./SlotLine.ts"

/** A run in flight, and who waits for its end. */
export interface Following {
  readonly lane: Lane
  readonly flight: Flight
  readonly unwatch: () => void
  readonly onEnd: Array<() => void>
}

/** Admits runs in the commit that ends others, in the freed slots. */
export interface AdmissionsWithEnds {
  /** Leaves the lane's admissions to the next commit of ends, if that begins in this turn of the event loop. */
  readonly defer: (lane: Lane) => void
  /** Asks first the lanes that have waited longest for a slot, then the lanes whose runs end. */
  readonly select: AdmitWithEnds
}

interface Options {
  readonly lease: Lease
  readonly line: SlotLine
  readonly admission: LaneAdmission
  /** The runs in flight of all lanes. */
  readonly following: ReadonlyMap<RunId, Following>
  readonly advance: (lane: Lane, mayAdmit?: boolean) => void
  readonly fork: (effect: Effect.Effect<void, LeaseLost>) => void
}

/** False turns this off (decision 0026): every admission has a commit of its own. */
const isEnabled: boolean = true

export const make = Effect.fnUntraced(function* ({
  lease,
  line,
  admission,
  following,
  advance,
  fork
}: Options): Effect.fn.Return<AdmissionsWithEnds, never, Outcomes> {
  const outcomes = yield* Outcomes
  const clock = yield* Effect.clock

  const deferred = new Set<Lane>()
  let isFlushing = false

  const defer: AdmissionsWithEnds["defer"] = (lane) => {
    deferred.add(lane)
    if (isFlushing) return
    isFlushing = true
    setImmediate(() => {
      isFlushing = false
      if (line.isClosed || (isEnabled && outcomes.areEndsWaiting())) return
      const waited = [...deferred]
      deferred.clear()
      for (const lane of line.candidates()) advance(lane, true)
      for (const lane of waited) advance(lane, true)
    })
  }

  const select: AdmissionsWithEnds["select"] = (ends) => {
    if (line.isClosed || !isEnabled) return undefined
    const waited = [...deferred]
    deferred.clear()
    const ending = inFlight(ends)
    const taken = ending === undefined ? [] : takeReady(ending, waited)
    const lanes = new Set(taken.map(({ lane }) => lane))
    for (const lane of waited) if (!lanes.has(lane)) advance(lane, true)
    return ending === undefined || taken.length === 0 ? undefined : admissionOf(ending, taken)
  }

  /** The ending runs, if each of them is in flight and releases its slots. */
  const inFlight = (ends: Parameters<AdmissionsWithEnds["select"]>[0]): ReadonlyArray<Following> | undefined => {
    const found = new Map<RunId, Following>()
    for (const { outcome, run_id } of ends) {
      const run = following.get(run_id)
      // Otherwise it keeps its slots until its leader is done with it.
      if (run === undefined || !endsWork(outcome) || !run.lane.flights.maySend(run_id)) return undefined
      found.set(run_id, run)
    }
    return [...found.values()]
  }

  /** During the commit, both the runs that end and these hold their slots: no other run takes them. */
  const takeReady = (ending: ReadonlyArray<Following>, waited: ReadonlyArray<Lane>): ReadonlyArray<Ready> => {
    const taken: Array<Ready> = []
    const begunAt = stopwatch(clock)
    for (const { flight } of ending) line.release(flight.run)
    const asked = new Set<Lane>()
    const ask = (lane: Lane): void => {
      if (asked.has(lane)) return
      asked.add(lane)
      const runs = lane.admitWithEnds(ending.filter((other) => other.lane === lane).length)
      if (runs.length > 0) {
        taken.push({ lane, runs, begunAt })
        line.leave(lane)
      }
      line.update(lane)
    }
    for (const lane of line.candidates()) ask(lane)
    for (const lane of waited) ask(lane)
    for (const { lane } of ending) ask(lane)
    for (const { flight } of ending) line.hold(flight.run)
    return taken
  }

  const admissionOf = (ending: ReadonlyArray<Following>, taken: ReadonlyArray<Ready>): AdmissionWithEnds => {
    const run_ids = new Set(taken.flatMap(({ runs }) => runs.map(({ run_id }) => run_id)))
    const at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
    return {
      admission: { term: lease.term(), run_ids, at },
      settle: (ids) => {
        for (const ready of taken) {
          if (line.isClosed) giveUp(ready)
          else if (ids === undefined) fork(admitAfter(ending, ready))
          else {
            admission.admitted(ready, ids)
            advance(ready.lane)
          }
        }
        if (ids !== undefined && ids.size < run_ids.size) line.advance()
      }
    }
  }

  const giveUp = ({ runs }: Ready): void => {
    for (const run of runs) line.release(run)
  }

  /** After a commit with an unknown result: admits the runs once the others have ended. Admitting twice does no harm. */
  const admitAfter = (ending: ReadonlyArray<Following>, ready: Ready): Effect.Effect<void, LeaseLost> => {
    const allEnded = Effect.forEach(ending, hasEnded, { discard: true })
    return Effect.zipRight(
      Effect.onInterrupt(allEnded, () => Effect.sync(() => giveUp(ready))),
      // Suspended, because it reads the time at which they got their slots.
      Effect.suspend(() => admission.admit(ready))
    )
  }

  const hasEnded = ({ flight }: Following) =>
    Effect.async<void>((resume) => {
      const now = following.get(flight.run.run_id)
      if (now === undefined) resume(Effect.void)
      else now.onEnd.push(() => resume(Effect.void))
    })

  return { defer, select }
})
