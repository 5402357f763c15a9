import { Effect } from "effect"
import { Bus } from "../bus/Bus.ts"
import type { RunId } from "../domain/Id.ts"
import type { Lane } from "./Lane.ts"

/** Whether the broker has lost prompts of this lane. */
export type Audit = (lane: Lane) => Effect.Effect<boolean>

/**
 * A queue can be deleted and declared again, or a broker's disk lost, without a word to us. Prompts are lost when fewer wait
 * in the queue than should, with one in the leader's hands, twice in a row and without an answer in between. Then all that
 * is in flight is to be sent again, as the same runs; a leader answers what it has answered before from memory.
 */
export const make: Effect.Effect<Audit, never, Bus> = Effect.map(Bus, (bus) => {
  /** What was in flight when prompts were missing at the last audit. */
  const missedBefore = new WeakMap<Lane, ReadonlySet<RunId>>()
  return (lane) =>
    Effect.gen(function* () {
      if (lane.isBusy || lane.flights.size === 0) return false
      const expected = new Set(lane.flights.keys())
      const { messages } = yield* bus.queue(lane.team)
      if (lane.isBusy) return false
      const isMissing = messages + 1 < expected.size
      const isLost = isMissing && sameRuns(expected, missedBefore.get(lane) ?? new Set())
      missedBefore.set(lane, isMissing && !isLost ? expected : new Set())
      if (isLost) {
        yield* Effect.logWarning("Prompts are missing from the team's queue; they are sent again").pipe(
          Effect.annotateLogs({ team: lane.team, in_flight: expected.size, in_queue: messages })
        )
      }
      return isLost
    }).pipe(Effect.orElseSucceed(() => false))
})

const sameRuns = (a: ReadonlySet<RunId>, b: ReadonlySet<RunId>): boolean =>
  a.size === b.size && [...a].every((id) => b.has(id))
