/** Signs people in at a provider, as their browsers do. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { CookieJar, type Visit } from "../../support/CookieJar.ts"
import type { OpenIdProvider, Person } from "../../support/OpenIdProvider.ts"

export const signInPath = "/sign-in/provider"
export const callbackPath = "/sign-in/callback"
const sessionCookie = "webhook_trigger_session"
export const signInCookie = "webhook_trigger_sign_in"

const isOf = (origin: string) => (url: URL) => url.origin === origin && url.pathname !== callbackPath

/** To the address that follows the callback, which is not requested. */
export const visit = (origin: string, jar: CookieJar, query = ""): Effect.Effect<Visit> =>
  jar.go(`${origin}${signInPath}${query}`, isOf(origin))

/** To the callback, which is not requested. */
export const visitProvider = (origin: string, jar: CookieJar, query = ""): Effect.Effect<URL> =>
  Effect.map(
    jar.go(`${origin}${signInPath}${query}`, ({ pathname }) => pathname === callbackPath),
    ({ url }) => url
  )

export const hasSession = (jar: CookieJar, origin: string): boolean => jar.of(origin).has(sessionCookie)

/** A browser in which the person has signed in. */
export const signInAs = (provider: OpenIdProvider, origin: string, person: Person, jar = new CookieJar()) =>
  Effect.gen(function* () {
    provider.person = person
    const { url } = yield* visit(origin, jar)
    expect(url.href).toBe(`${origin}/`)
    return { jar, headers: { cookie: jar.header(origin) } }
  })

/** The problem that the sign-in page explains. */
export const problemOf = ({ url }: Pick<Visit, "url">): string | null => {
  expect(url.pathname).toBe("/sign-in")
  return url.searchParams.get("problem")
}
