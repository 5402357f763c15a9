import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { AdminKey } from "../../../src/engine/access/AdminKey.ts"
import { AdminKeyStore } from "../../../src/repo/access/AdminKeyStore.ts"
import { layerRepo } from "../../../src/testing.ts"

describe("the admin key", () => {
  it.effect("is generated once, shown once, and then recognised by its hash", () =>
    Effect.gen(function* () {
      const repo = yield* Layer.build(layerRepo)
      const begin = Effect.provide(
        AdminKey,
        Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeedContext(repo))
      )
      const first = yield* begin
      const key = Option.getOrThrow(first.generated)
      expect(Redacted.value(key)).toMatch(/^wha_[0-9A-Za-z]{49}$/)
      const second = yield* begin
      expect(Option.isNone(second.generated)).toBe(true)
      for (const { verify } of [first, second]) {
        expect(verify(key)).toBe(true)
        expect(verify(Redacted.make(`${Redacted.value(key)}x`))).toBe(false)
        expect(verify(Redacted.make(""))).toBe(false)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is the same for servers that start at the same time, and one of them shows it", () =>
    Effect.gen(function* () {
      const repo = yield* Layer.build(layerRepo)
      // Both read before either has claimed.
      const claim = { ...(yield* Effect.provide(AdminKeyStore, repo)), adminKeyHash: Effect.succeed(Option.none()) }
      const begin = Effect.provide(
        AdminKey,
        Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeed(AdminKeyStore, claim))
      )
      const [first, second] = [yield* begin, yield* begin]
      const key = Option.getOrThrow(first.generated)
      expect(Option.isNone(second.generated)).toBe(true)
      expect(second.verify(key)).toBe(true)
    }).pipe(Effect.scoped)
  )
})
