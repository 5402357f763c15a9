import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import * as RollUp from "../../../src/engine/upkeep/RollUp.ts"
import { HistoryStore } from "../../../src/repo/history/HistoryStore.ts"
import * as RepoMemory from "../../../src/repo/memory/RepoMemory.ts"

describe("keeping the statistics quick", () => {
  it.effect("goes on portion by portion while there is more, and again later", () => {
    let [portions, left] = [0, 2]
    const store = Layer.effect(
      HistoryStore,
      Effect.map(HistoryStore, (store) =>
        HistoryStore.of({
          ...store,
          rollUp: () =>
            Effect.sync(() => {
              portions++
              return left-- > 0
            })
        })
      )
    ).pipe(Layer.provide(RepoMemory.layer))
    return Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      expect(portions).toBe(3)
      yield* TestClock.adjust("5 seconds")
      expect(portions).toBe(4)
    }).pipe(Effect.provide(RollUp.layer.pipe(Layer.provide(store))))
  })
})
