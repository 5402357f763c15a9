import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Option, Redacted, Schema } from "effect"
import { cookieName, SessionState } from "../api/Session.ts"
import { SessionApi } from "../api/UiApi.ts"
import { Unauthorized } from "../domain/Errors.ts"
import { AdminKey } from "../engine/AdminKey.ts"
import { validate } from "../engine/Validation.ts"
import * as Body from "./Body.ts"
import * as Problems from "./Problems.ts"
import { Sessions, type Ticket } from "./Sessions.ts"

const decodeKey = validate(Schema.Struct({ key: Schema.String }))
const encodeState = Schema.encodeSync(SessionState)

/** More than any key needs. */
const maxBody = 4096

const strange = new Unauthorized({ detail: "Sign in and out from the server's own pages only." })
const wrong = new Unauthorized({ detail: "This is not the admin key." })
const tooMany = Problems.problem(429, {
  code: "too_many_attempts",
  detail: "Too many wrong keys came from this address."
})

export const layer = HttpApiBuilder.group(SessionApi, "session", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const { verify } = yield* AdminKey

    const cookie = (request: HttpServerRequest.HttpServerRequest, value: string, seconds: number) =>
      HttpServerResponse.unsafeSetCookie(cookieName, value, {
        path: "/",
        httpOnly: true,
        sameSite: "strict",
        secure: sessions.isSecure(request),
        maxAge: `${seconds} seconds`
      })

    const signedIn = (request: HttpServerRequest.HttpServerRequest, ticket: Ticket) =>
      HttpServerResponse.unsafeJson(encodeState({ signed_in: true, expires_at: ticket.expires_at })).pipe(
        cookie(request, ticket.value, ticket.max_age_seconds)
      )

    /** Some tools send neither header; a page of another site always sends one, and is not let in with its own key. */
    const isForeign = (request: HttpServerRequest.HttpServerRequest) =>
      (request.headers.origin ?? request.headers["sec-fetch-site"]) !== undefined && !sessions.isOwnPage(request)

    return handlers
      .handleRaw("show", ({ request }) =>
        Effect.gen(function* () {
          const expires_at = yield* sessions.read(request.cookies[cookieName] ?? "")
          if (Option.isNone(expires_at)) return HttpServerResponse.unsafeJson(encodeState({ signed_in: false }))
          const renewed = yield* sessions.renew(expires_at.value)
          return Option.isSome(renewed)
            ? signedIn(request, renewed.value)
            : HttpServerResponse.unsafeJson(encodeState({ signed_in: true, expires_at: expires_at.value }))
        })
      )
      .handleRaw("signIn", ({ request }) =>
        Effect.gen(function* () {
          if (isForeign(request)) return yield* Effect.fail(Problems.of(strange))
          if (!(yield* sessions.mayTry(request))) return yield* Effect.fail(tooMany)
          const { key } = yield* Effect.flatMap(Body.readObject(request, maxBody), decodeKey).pipe(
            Effect.mapError(Problems.of)
          )
          if (!verify(Redacted.make(key))) {
            yield* sessions.wrongKey(request)
            return yield* Effect.fail(Problems.of(wrong))
          }
          return signedIn(request, yield* sessions.start)
        })
      )
      .handleRaw("signOut", ({ request }) =>
        isForeign(request)
          ? Effect.fail(Problems.of(strange))
          : Effect.succeed(HttpServerResponse.empty({ status: 204 }).pipe(cookie(request, "", 0)))
      )
  })
)
