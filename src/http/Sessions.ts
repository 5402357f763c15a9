/**
 * The web UI's sessions: a cookie that contains its own expiry, signed with a key that every replica derives from the
 * admin key. Nothing is stored, so every replica accepts it, and a new admin key ends all sessions.
 */
import { timingSafeEqual } from "node:crypto"
import type { HttpServerRequest } from "@effect/platform"
import { Context, DateTime, Duration, Effect, Layer, Option } from "effect"
import { cookieName, secureCookieName } from "../api/Session.ts"
import { AdminKey } from "../engine/AdminKey.ts"
import { makeOriginFor } from "./PublicUrl.ts"

type Request = HttpServerRequest.HttpServerRequest

const lifetime = Duration.hours(12)

/** A younger session is not renewed, so that not every answer sets a cookie. */
const renewAfter = Duration.hours(1)

export interface SessionCookie {
  readonly value: string
  readonly expires_at: DateTime.Utc
  readonly maxAge: Duration.Duration
}

export class Sessions extends Context.Tag("webhook-trigger/Sessions")<
  Sessions,
  {
    readonly start: Effect.Effect<SessionCookie>
    /** When the cookie's session ends; none when it has ended or the cookie was not issued here. */
    readonly read: (cookie: string) => Effect.Effect<Option.Option<DateTime.Utc>>
    /** A new cookie for a session that has been in use for a while. */
    readonly renew: (expires_at: DateTime.Utc) => Effect.Effect<Option.Option<SessionCookie>>
    /** Whether the request comes from the server's own pages, and not from another site that makes use of the cookie. */
    readonly isSameOrigin: (request: Request) => boolean
    /** The session cookie that came with the request, or an empty text. */
    readonly cookieOf: (request: Request) => string
    /** What a response has to set as the session cookie, to be sent over TLS only when the request came by it. */
    readonly cookieFor: (request: Request) => { readonly name: string; readonly secure: boolean }
  }
>() {
  static readonly layer: Layer.Layer<Sessions, never, AdminKey> = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const { sign } = yield* AdminKey
      const originFor = yield* makeOriginFor

      const signed = (seconds: number) => `v1.${seconds}.${sign(`session v1 ${seconds}`)}`

      const start = Effect.map(DateTime.now, (now): SessionCookie => {
        const seconds = Math.floor(DateTime.toEpochMillis(DateTime.addDuration(now, lifetime)) / 1000)
        return { value: signed(seconds), expires_at: fromSeconds(seconds), maxAge: lifetime }
      })

      const read = (cookie: string) =>
        Effect.map(DateTime.now, (now) => {
          const seconds = Number(/^v1\.([1-9][0-9]{0,11})\./.exec(cookie)?.[1])
          return Number.isInteger(seconds) &&
            DateTime.greaterThan(fromSeconds(seconds), now) &&
            isEqual(cookie, signed(seconds))
            ? Option.some(fromSeconds(seconds))
            : Option.none()
        })

      const renew = (expires_at: DateTime.Utc) =>
        Effect.flatMap(DateTime.now, (now) =>
          DateTime.lessThan(expires_at, DateTime.addDuration(now, Duration.subtract(lifetime, renewAfter)))
            ? Effect.asSome(start)
            : Effect.succeedNone
        )

      // Browsers send `Sec-Fetch-Site` to secure addresses only, and `Origin` with every unsafe request.
      const isSameOrigin = (request: Request) => {
        const { headers } = request
        if (headers["sec-fetch-site"] !== undefined) return headers["sec-fetch-site"] === "same-origin"
        const own = Option.map(parseUrl(originFor(request)), ({ origin }) => origin)
        return Option.fromNullable(headers.origin).pipe(
          Option.flatMap(parseUrl),
          Option.exists(({ host, origin }) => host === headers.host || Option.contains(own, origin))
        )
      }

      const cookieFor = (request: Request) => {
        const secure = originFor(request).startsWith("https:")
        return { name: secure ? secureCookieName : cookieName, secure }
      }
      const cookieOf = (request: Request) => request.cookies[cookieFor(request).name] ?? ""

      return Sessions.of({ start, read, renew, isSameOrigin, cookieOf, cookieFor })
    })
  )
}

/** None for `null`, which browsers send for a page without an origin. */
const parseUrl = Option.liftThrowable((text: string) => new URL(text))

const fromSeconds = (seconds: number): DateTime.Utc => DateTime.unsafeMake(seconds * 1000)

const isEqual = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
