import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Option, Redacted, Schema } from "effect"
import { Api } from "../api/Api.ts"
import { SessionState, SignIn } from "../api/Session.ts"
import { Unauthorized } from "../domain/Errors.ts"
import { AdminKey } from "../engine/AdminKey.ts"
import { validate } from "../engine/Validation.ts"
import * as Body from "./Body.ts"
import * as Problems from "./Problems.ts"
import { type SessionCookie, Sessions } from "./Sessions.ts"
import * as SignInLimit from "./SignInLimit.ts"

const decodeSignIn = validate(SignIn)
const encodeState = Schema.encodeSync(SessionState)

/** More than any key needs. */
const maxBody = 4096

const foreignPage = new Unauthorized({ detail: "Sign in and out from the server's own pages only." })
const wrongKey = new Unauthorized({ detail: "This is not the admin key." })
const tooManyAttempts = Problems.problem(429, {
  code: "too_many_attempts",
  detail: "Too many wrong keys came from this address."
})

export const layer = HttpApiBuilder.group(Api, "session", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const limit = yield* SignInLimit.make
    const { verify } = yield* AdminKey

    const setCookie = (
      request: HttpServerRequest.HttpServerRequest,
      { value, maxAge }: Omit<SessionCookie, "expires_at">
    ) => {
      const { name, secure } = sessions.cookieFor(request)
      return HttpServerResponse.unsafeSetCookie(name, value, {
        path: "/",
        httpOnly: true,
        sameSite: "strict",
        secure,
        maxAge
      })
    }

    const signedIn = (request: HttpServerRequest.HttpServerRequest, cookie: SessionCookie) =>
      HttpServerResponse.unsafeJson(encodeState({ signed_in: true, expires_at: cookie.expires_at })).pipe(
        setCookie(request, cookie)
      )

    /** Some tools send neither header; a page of another site always sends one, and may not sign in even with the key. */
    const isForeign = (request: HttpServerRequest.HttpServerRequest) =>
      (request.headers.origin ?? request.headers["sec-fetch-site"]) !== undefined && !sessions.isSameOrigin(request)

    return handlers
      .handleRaw("show", ({ request }) =>
        Effect.gen(function* () {
          const expires_at = yield* sessions.read(sessions.cookieOf(request))
          if (Option.isNone(expires_at)) return HttpServerResponse.unsafeJson(encodeState({ signed_in: false }))
          const renewed = yield* sessions.renew(expires_at.value)
          return Option.isSome(renewed)
            ? signedIn(request, renewed.value)
            : HttpServerResponse.unsafeJson(encodeState({ signed_in: true, expires_at: expires_at.value }))
        })
      )
      .handleRaw("signIn", ({ request }) =>
        Effect.gen(function* () {
          if (isForeign(request)) return yield* Effect.fail(Problems.of(foreignPage))
          if (!(yield* limit.allows(request))) return yield* Effect.fail(tooManyAttempts)
          const { key } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeSignIn).pipe(
            Effect.mapError(Problems.of)
          )
          if (!verify(Redacted.make(key))) {
            yield* limit.recordWrongKey(request)
            return yield* Effect.fail(Problems.of(wrongKey))
          }
          return signedIn(request, yield* sessions.start)
        })
      )
      .handleRaw("signOut", ({ request }) =>
        isForeign(request)
          ? Effect.fail(Problems.of(foreignPage))
          : Effect.succeed(
              HttpServerResponse.empty({ status: 204 }).pipe(setCookie(request, { value: "", maxAge: Duration.zero }))
            )
      )
  })
)
