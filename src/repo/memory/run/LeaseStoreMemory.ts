import { type Context, Duration, Effect, Option } from "effect"
import { LeaseLost, LeaseStore, type Term } from "../../run/LeaseStore.ts"
import type { Tables } from "../Tables.ts"

export const makeLeaseStore = (tables: Tables): Context.Tag.Service<LeaseStore> => {
  const { lease, databaseTime, holds, notify } = tables
  const held = makeHeld(tables)

  return LeaseStore.of({
    acquireLease: (name, life, overdue = Duration.zero) =>
      Effect.map(databaseTime, (now) => {
        const isHeld = lease.holder !== undefined && lease.expiresAt + Duration.toMillis(overdue) > now
        if (isHeld && lease.holder !== name) return Option.none()
        lease.holder = name
        lease.expiresAt = now + Duration.toMillis(life)
        return Option.some(++lease.term)
      }),
    renewLease: (mine, life) =>
      Effect.map(Effect.zipRight(held(mine), databaseTime), (now) => {
        lease.expiresAt = now + Duration.toMillis(life)
      }),
    // There is no other process.
    lockForProcess: (mine) => Effect.succeed({ id: mine, isHeld: () => false }),
    nextTerm: (mine) => Effect.map(held(mine), () => ++lease.term),
    offerLease: (mine) =>
      Effect.map(Effect.zipRight(held(mine), databaseTime), (now) => {
        lease.expiresAt = now
        notify({ _tag: "LeaseReleased" })
      }),
    releaseLease: (mine) =>
      Effect.sync(() => {
        if (!holds(mine)) return
        lease.holder = undefined
        notify({ _tag: "LeaseReleased" })
      })
  })
}

/** Fails if the term is not the dispatcher's. */
export const makeHeld =
  ({ holds }: Tables) =>
  (mine: Term) =>
    Effect.suspend(() => (holds(mine) ? Effect.void : new LeaseLost()))
