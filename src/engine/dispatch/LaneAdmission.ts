import { DateTime, Effect, Exit, type Scope } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { type LaneRun, LaneStore } from "../../repo/run/LaneStore.ts"
import type { LeaseLost } from "../../repo/run/LeaseStore.ts"
import type { RunEvent } from "../../repo/run/RunEnd.ts"
import { untilAvailable } from "../../runtime/Availability.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import type { Flight } from "./Flights.ts"
import type { Lane } from "./Lane.ts"
import type { Lease } from "./Lease.ts"
import type { SlotLine } from "./SlotLine.ts"

/** Runs of one lane that have their slots, in order. `begunAt`: when their admission began, by the `stopwatch`. */
export interface Ready {
  readonly lane: Lane
  readonly runs: ReadonlyArray<LaneRun>
  readonly begunAt: number
}

/** Records that runs have their slots; only then may they be sent. */
export interface LaneAdmission {
  /** Does the lane's step `Admit`, with retries, and advances the lane. */
  readonly admit: (ready: Ready) => Effect.Effect<void, LeaseLost>
  /** The runs with these IDs were admitted, and are in flight. The others release their slots. */
  readonly admitted: (ready: Ready, ids: ReadonlySet<RunId>) => void
}

export const make = Effect.fnUntraced(function* (
  lease: Lease,
  line: SlotLine,
  { advance, follow }: { readonly advance: (lane: Lane) => void; readonly follow: (lane: Lane, flight: Flight) => void }
): Effect.fn.Return<LaneAdmission, never, LaneStore | Scope.Scope> {
  const store = yield* LaneStore
  const clock = yield* Effect.clock
  /** Lanes share commits, but the runs of one lane are never split: a part of them would be out of order. */
  const commit = yield* GroupCommit.make({
    size: 100,
    commit: (groups: ReadonlyArray<ReadonlyArray<RunEvent>>) =>
      Effect.flatMap(DateTime.now, (now) =>
        Effect.map(
          lease.inTerm((term) => store.admit(groups.flat(), term, now)),
          (admitted) => groups.map(() => admitted)
        )
      )
  })

  const admitted: LaneAdmission["admitted"] = ({ lane, runs, begunAt }, ids) => {
    const flights = runs.filter(({ run_id }) => ids.has(run_id)).map((run): Flight => ({ run, begunAt }))
    for (const run of runs) if (!ids.has(run.run_id)) line.release(run)
    lane.admitted(flights)
    for (const flight of flights) follow(lane, flight)
  }

  return {
    admit: (ready) => {
      // The time at which they got their slots. By the time of the commit, other runs may have got theirs.
      const at = DateTime.unsafeMake(clock.unsafeCurrentTimeMillis())
      return untilAvailable(commit([ready.runs.map(({ run_id }) => ({ run_id, at }))])).pipe(
        // Also after an interruption: a run with slots is always in a lane, or releases them.
        Effect.onExit((exit) =>
          Effect.sync(() => admitted(ready, Exit.isSuccess(exit) ? exit.value[0]! : new Set<RunId>()))
        ),
        Effect.map(() => {
          advance(ready.lane)
          line.advance()
        })
      )
    },
    admitted
  }
})
