import { Clock, Effect, Option } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { LeaseLost, type Term } from "../Repo.ts"
import type { Tables } from "./RepoMemoryTables.ts"

/** The part of the memory `Repo` that keeps the dispatcher's lease, and what only its holder may do. */
export const makeLease = ({ runs, publish }: Tables) => {
  let term: Term = 0
  let holder: string | undefined
  let expiresAt = 0

  const acquireLease = (who: string, ttl_ms: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (holder !== undefined && expiresAt > now) return Option.none()
      term++
      holder = who
      expiresAt = now + ttl_ms
      return Option.some(term)
    })

  const whoHolds = (mine: Term) =>
    Effect.suspend(() => (holder !== undefined && mine === term ? Effect.void : Effect.fail(new LeaseLost())))

  const renewLease = (mine: Term, ttl_ms: number) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      yield* whoHolds(mine)
      expiresAt = now + ttl_ms
    })

  const releaseLease = (mine: Term) =>
    Effect.sync(() => {
      if (holder === undefined || mine !== term) return
      holder = undefined
      publish({ _tag: "LeaseReleased" })
    })

  const admit = (ids: ReadonlyArray<RunId>, mine: Term) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      yield* whoHolds(mine)
      const admitted = ids.filter((id) => runs.get(id)?.status === "queued")
      for (const id of admitted) {
        const run = runs.get(id)
        if (run?.admitted_at === null) runs.update(run, { admitted_at: new Date(now) })
      }
      return new Set(admitted)
    })

  return { acquireLease, renewLease, releaseLease, admit }
}
