import { Deferred, Effect, FiberId } from "effect"
import type { RunId } from "../domain/Id.ts"

/** How many ids are remembered, for prompts delivered after their cancellation. */
const remembered = 10_000

/** The cancelled runs known to a leader. */
export interface Cancellations {
  readonly put: (id: RunId) => void
  /** Done when the run is, or was, cancelled. */
  readonly of: (id: RunId) => Deferred.Deferred<void>
}

export const makeCancellations = (): Cancellations => {
  const cancelled = new Map<RunId, Deferred.Deferred<void>>()
  const entry = (id: RunId) => {
    // A map keeps the insertion order, so the oldest comes first.
    const known = cancelled.get(id)
    if (known !== undefined) return known
    const fresh = Deferred.unsafeMake<void>(FiberId.none)
    cancelled.set(id, fresh)
    for (const oldest of cancelled.keys()) {
      if (cancelled.size <= remembered) break
      cancelled.delete(oldest)
    }
    return fresh
  }
  return {
    put: (id) => Deferred.unsafeDone(entry(id), Effect.void),
    of: entry
  }
}
