import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Result } from "effect"
import { AdminKey } from "../../../src/engine/access/AdminKey.ts"
import { layerRepo } from "../../../src/testing.ts"

/** Starts that share a store. Each has read it before the next begins. */
const starts = (count: number) =>
  Effect.gen(function* () {
    const repo = yield* Layer.build(layerRepo)
    const begin = Effect.provide(
      AdminKey,
      Layer.provide(Layer.fresh(AdminKey.layerGenerated), Layer.succeedContext(repo))
    )
    return yield* Effect.replicateEffect(begin, count)
  })

type Key = Effect.Success<ReturnType<typeof starts>>[number]

/** The keys that a start shows. */
const claimed = ({ claim }: Key) =>
  Effect.gen(function* () {
    const shown: Array<Option.Option<Redacted.Redacted>> = []
    yield* claim((made) => Effect.sync(() => void shown.push(made)))
    return shown
  })

describe("the admin key", () => {
  it.effect("is generated once, shown once, and then recognised by its hash", () =>
    Effect.gen(function* () {
      const [first, second] = yield* starts(2)
      const [made] = yield* claimed(first!)
      const key = Option.getOrThrow(made!)
      expect(Redacted.value(key)).toMatch(/^wha_[0-9A-Za-z]{49}$/)
      expect(yield* claimed(second!)).toEqual([Option.none()])
      for (const { verify } of [first!, second!]) {
        expect(verify(key)).toBe(true)
        expect(verify(Redacted.make(`${Redacted.value(key)}x`))).toBe(false)
        expect(verify(Redacted.make(""))).toBe(false)
      }
      expect(yield* second!.fingerprint).toEqual(yield* first!.fingerprint)
    }).pipe(Effect.scoped)
  )

  it.effect("is the same for servers that start at the same time, and one of them shows it", () =>
    Effect.gen(function* () {
      const keys = yield* starts(4)
      // Sessions that were begun with an earlier key may be looked at before the start has ended.
      yield* Effect.forEach(keys, ({ fingerprint }) => fingerprint, { concurrency: "unbounded" })
      const shown = yield* Effect.forEach(keys, claimed, { concurrency: "unbounded" })
      expect(shown.every(({ length }) => length === 1)).toBe(true)
      const [key, ...others] = shown.flat().flatMap(Option.toArray)
      expect(others).toEqual([])
      for (const { verify } of keys) expect(verify(key!)).toBe(true)
      const prints = yield* Effect.forEach(keys, ({ fingerprint }) => fingerprint)
      expect(new Set(prints.map((print) => Buffer.from(print).toString("hex"))).size).toBe(1)
    }).pipe(Effect.scoped)
  )

  it.effect("that could not be shown is not stored: the next start shows another", () =>
    Effect.gen(function* () {
      const [first, second] = yield* starts(2)
      const lost: Array<Redacted.Redacted> = []
      const failed = yield* Effect.result(
        first!.claim((made) => {
          lost.push(Option.getOrThrow(made))
          return Effect.fail("nobody reads it")
        })
      )
      expect(failed).toEqual(Result.fail("nobody reads it"))
      const [made] = yield* claimed(second!)
      const key = Option.getOrThrow(made!)
      expect(second!.verify(key)).toBe(true)
      expect(second!.verify(lost[0]!)).toBe(false)
    }).pipe(Effect.scoped)
  )
})
