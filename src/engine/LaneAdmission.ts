import { DateTime, Effect, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { LaneStore } from "../repo/LaneStore.ts"
import type { LeaseLost, Term } from "../repo/LeaseStore.ts"
import type { RunMark } from "../repo/RunStore.ts"
import * as GroupCommit from "./GroupCommit.ts"

/** Marks runs of one lane, each with when it got its slots, as about to be sent; gives those that may be. */
export type Admit = (runs: ReadonlyArray<RunMark>) => Effect.Effect<ReadonlySet<RunId>, LeaseLost | Unavailable>

/** Lanes share a commit, but what one lane admits together is never split: a part of it would be out of order. */
export const make = Effect.fnUntraced(function* (term: Term): Effect.fn.Return<Admit, never, LaneStore | Scope.Scope> {
  const store = yield* LaneStore
  const commit = yield* GroupCommit.make({
    size: 100,
    commit: (groups: ReadonlyArray<ReadonlyArray<RunMark>>) =>
      Effect.flatMap(DateTime.now, (now) =>
        Effect.map(store.admit(groups.flat(), term, now), (admitted) => groups.map(() => admitted))
      )
  })
  return (runs) => Effect.map(commit([runs]), ([admitted]) => admitted!)
})
