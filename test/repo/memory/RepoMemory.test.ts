import { describe, it } from "@effect/vitest"
import { Context, Effect, Either, Layer } from "effect"
import * as RepoMemory from "../../../src/repo/memory/RepoMemory.ts"
import { type Acceptance, RunStore } from "../../../src/repo/run/RunStore.ts"
import { deliveryStore } from "../contract/delivery/DeliveryStore.ts"
import { repoContract, type Test, type WithRepo } from "../contract/RepoContract.ts"
import { accept } from "../contract/run/accept.ts"
import { acceptancesThatAdmit } from "../contract/run/acceptAndAdmit.ts"
import { budgets } from "../contract/run/budgets.ts"
import { coalesce } from "../contract/run/coalesce.ts"
import { endsThatAdmit } from "../contract/run/endAndAdmit.ts"
import { idempotency } from "../contract/run/idempotency.ts"
import { limits } from "../contract/run/limits.ts"
import { pause } from "../contract/run/pause.ts"
import { threads } from "../contract/run/threads.ts"

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

// Only the suites that accept runs, or end and admit them, in another way: all else is the driver from above.
describe("RepoMemory without what is optional", () => {
  const test: Test = (name, body) => it.live(name, () => on(minimal)(body))
  const ifOptional: Test = () => {}
  describe("RunStore.accept", () => {
    accept(test, ifOptional)
    idempotency(test)
    acceptancesThatAdmit(test, ifOptional)
    limits(test, ifOptional)
    budgets(test)
    coalesce(test)
    threads(test)
  })
  describe("RunStore.endAndAdmit", () => endsThatAdmit(test))
  describe("TeamStore.pauseTeam and resumeTeam", () => pause(test))
  describe("DestinationStore and DeliveryStore", () => deliveryStore(test))
})
