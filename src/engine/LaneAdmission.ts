import { DateTime, Effect, type Scope } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { type LaneRun, LaneStore } from "../repo/LaneStore.ts"
import type { LeaseLost, Term } from "../repo/LeaseStore.ts"
import * as GroupCommit from "./GroupCommit.ts"

/** Marks runs of one lane as about to be sent; gives those that may be. */
export type Admit = (runs: ReadonlyArray<LaneRun>) => Effect.Effect<ReadonlySet<RunId>, LeaseLost | Unavailable>

/** Lanes share a commit, but what one lane admits together is never split: a part of it would be out of order. */
export const make = Effect.fnUntraced(function* (term: Term): Effect.fn.Return<Admit, never, LaneStore | Scope.Scope> {
  const store = yield* LaneStore
  const commit = yield* GroupCommit.make({
    size: 100,
    commit: (groups: ReadonlyArray<ReadonlyArray<RunId>>) =>
      Effect.flatMap(DateTime.now, (at) =>
        Effect.map(store.admit(groups.flat(), term, at), (admitted) => groups.map(() => admitted))
      )
  })
  return (runs) => Effect.map(commit([runs.map(({ run_id }) => run_id)]), ([admitted]) => admitted!)
})
