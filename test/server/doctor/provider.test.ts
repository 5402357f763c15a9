import { Effect, Option, Redacted } from "effect"
import { examineProvider } from "../../../src/server/doctor/Services.ts"
import { describe, expect, it } from "../../support/It.ts"
import { startProvider } from "../../support/OpenIdProvider.ts"

const results = (examined: Effect.Success<ReturnType<typeof examineProvider>>) =>
  examined.checks.map(({ result }) => result)

describe("doctor", () => {
  it.live("says whether the OpenID provider answers as the issuer and knows the client", function* () {
    const provider = yield* startProvider()
    const fine = yield* examineProvider(provider.settings())
    expect([results(fine), fine.help]).toStrictEqual([["yes", "yes"], undefined])
    const clientSecret = Option.some(Redacted.make("another-secret"))
    const stranger = yield* examineProvider(provider.settings({ clientSecret }))
    expect(results(stranger)).toStrictEqual(["yes", "no"])
    expect(stranger.help).toContain("OIDC_CLIENT_SECRET")
    expect(JSON.stringify(stranger)).not.toContain("another-secret")
    const unknown = yield* examineProvider(provider.settings({ clientId: "nobody" }))
    expect(results(unknown)).toStrictEqual(["yes", "no"])
    const another = yield* examineProvider(
      provider.settings({ issuer: provider.issuer.replace("127.0.0.1", "localhost") })
    )
    expect([results(another), another.help]).toStrictEqual([["no", "unknown"], expect.stringContaining("OIDC_ISSUER")])
    provider.isDown = true
    expect(results(yield* examineProvider(provider.settings()))).toStrictEqual(["no", "unknown"])
  })
})
