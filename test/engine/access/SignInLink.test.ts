import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { isOfLink, SignInLink } from "../../../src/engine/access/SignInLink.ts"
import { describe, expect, on } from "../../support/It.ts"

const isUsed = (key: Redacted.Redacted) =>
  Effect.flatMap(SignInLink, ({ use }) => use(key)).pipe(
    Effect.as(true),
    Effect.catchTag("Unauthorized", () => Effect.succeed(false))
  )

describe("the key of a link that signs in", () => {
  const it = on(SignInLink.layer)

  it("can be used once, within ten minutes", function* () {
    const { make } = yield* SignInLink
    const key = yield* make
    expect(isOfLink(key)).toBe(true)
    yield* TestClock.adjust("599 seconds")
    expect([yield* isUsed(key), yield* isUsed(key)]).toEqual([true, false])
    const late = yield* make
    yield* TestClock.adjust("600 seconds")
    expect(yield* isUsed(late)).toBe(false)
  })

  it("is void once there is a newer one, which a wrong key does not use up", function* () {
    const { make } = yield* SignInLink
    const [earlier, key] = [yield* make, yield* make]
    expect(yield* isUsed(earlier)).toBe(false)
    expect(yield* isUsed(key)).toBe(true)
    expect(isOfLink(Redacted.make("an-admin-key-of-a-person"))).toBe(false)
  })
})
