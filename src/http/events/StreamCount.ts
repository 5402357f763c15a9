import { Effect, type Metric, type Scope } from "effect"
import { TooManyStreams } from "../../domain/Errors.ts"
import { record } from "../../telemetry/Metrics.ts"
import type { StreamOwner } from "../access/ActorStreams.ts"

/** Whose streams are limited together. */
export type Owner = StreamOwner | { readonly of: "webhook"; readonly id: string }

/** Counts a stream until the scope closes. */
export type Enter = (owner: Owner) => Effect.Effect<void, TooManyStreams, Scope.Scope>

/** Counts the open streams of this process, and refuses those beyond the limits. */
export const make = (open: Metric.Gauge<number>, inAll: number, limitOf: (owner: Owner) => number): Enter => {
  const ofOwners = new Map<string, number>()
  let all = 0
  const count = (id: string, change: 1 | -1): void => {
    const streams = (ofOwners.get(id) ?? 0) + change
    if (streams === 0) ofOwners.delete(id)
    else ofOwners.set(id, streams)
    all += change
    record(open, all)
  }
  return (owner) =>
    Effect.acquireRelease(
      Effect.suspend(() => {
        if (all >= inAll) return new TooManyStreams({ limit: inAll, of: "server" })
        const limit = limitOf(owner)
        if ((ofOwners.get(owner.id) ?? 0) >= limit) return new TooManyStreams({ limit, of: owner.of })
        return Effect.sync(() => count(owner.id, 1))
      }),
      () => Effect.sync(() => count(owner.id, -1))
    )
}
