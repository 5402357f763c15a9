import { Deferred, Effect } from "effect"
import type { RunId } from "../domain/Id.ts"
import { RecentMap } from "../runtime/RecentMap.ts"

/** For prompts that are delivered after their cancellation. At least half as many IDs are remembered. */
const capacity = 20_000

/** The cancelled runs known to a leader. */
interface Cancellations {
  readonly put: (id: RunId) => void
  /** Done when the run is, or was, cancelled. */
  readonly of: (id: RunId) => Deferred.Deferred<void>
}

export const makeCancellations = (): Cancellations => {
  const cancelled = new RecentMap<RunId, Deferred.Deferred<void>>(capacity)
  const entry = (id: RunId) => {
    const known = cancelled.get(id)
    if (known !== undefined) return known
    const fresh = Deferred.makeUnsafe<void>()
    cancelled.set(id, fresh)
    return fresh
  }
  return {
    put: (id) => Deferred.doneUnsafe(entry(id), Effect.void),
    of: entry
  }
}
