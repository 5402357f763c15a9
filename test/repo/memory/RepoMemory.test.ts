import { describe } from "@effect/vitest"
import { Context, Effect, Either, Layer } from "effect"
import { repoContract, type WithRepo } from "../../../src/repo/contract/RepoContract.ts"
import * as RepoMemory from "../../../src/repo/memory/RepoMemory.ts"
import { type Acceptance, RunStore } from "../../../src/repo/run/RunStore.ts"

const on =
  (layer: typeof RepoMemory.layer): WithRepo =>
  (test) =>
    test.pipe(Effect.scoped, Effect.provide(layer))

const withoutAhead = (answer: Acceptance): Acceptance =>
  answer._tag === "Accepted" ? { _tag: "Accepted", admitted: answer.admitted } : answer

/** The driver without what is optional. */
const minimal = Layer.map(RepoMemory.layer, (context) => {
  const { endAndAdmit: _, accept, ...runs } = Context.get(context, RunStore)
  return Context.add(context, RunStore, {
    ...runs,
    accept: (given, { countQueued: _, countQueuedOf: __, ...options }) =>
      Effect.map(accept(given, options), (answers) => answers.map(Either.map(withoutAhead)))
  })
})

describe("RepoMemory", () => repoContract(on(RepoMemory.layer), { optional: true }))

describe("RepoMemory without what is optional", () => repoContract(on(minimal)))
