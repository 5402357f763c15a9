import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as RollUp from "../../../src/engine/upkeep/RollUp.ts"
import { HistoryStore } from "../../../src/repo/history/HistoryStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"

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
    ).pipe(Layer.provide(layerRepo))
    return Effect.gen(function* () {
      yield* advance("1 second")
      expect(portions).toBe(3)
      yield* advance("5 seconds")
      expect(portions).toBe(4)
    }).pipe(Effect.provide(RollUp.layer.pipe(Layer.provide(store))))
  })
})
