/**
 * The web UI's sessions: a cookie that says until when it counts, signed with a key that every replica derives from the
 * admin key. Nothing is stored, so any replica takes it, and another admin key ends them all.
 */
import { timingSafeEqual } from "node:crypto"
import { HttpServerRequest } from "@effect/platform"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { AdminKey } from "../engine/AdminKey.ts"
import { PublicUrl } from "./PublicUrl.ts"

type Request = HttpServerRequest.HttpServerRequest

const life_ms = 12 * 60 * 60 * 1000

/** Younger ones are not renewed: a cookie with every answer would be too much. */
const renewedAfter_ms = 60 * 60 * 1000

/** Wrong keys that one address may try at once, and how long until it may try one more. */
const attempts = 10
const pause_ms = 10_000

/** Addresses remembered at most; the oldest are forgotten first. */
const maxAddresses = 10_000

export interface Ticket {
  readonly value: string
  readonly expires_at: Date
  readonly max_age_seconds: number
}

export class Sessions extends Context.Tag("webhook-trigger/Sessions")<
  Sessions,
  {
    readonly start: Effect.Effect<Ticket>
    /** When the cookie's session ends; none when it has ended or was not made here. */
    readonly read: (cookie: string) => Effect.Effect<Option.Option<Date>>
    /** Another one in place of one that has been in use for a while. */
    readonly renew: (expires_at: Date) => Effect.Effect<Option.Option<Ticket>>
    /** Whether the request comes from the server's own pages, and not from another site with the cookie's help. */
    readonly isOwnPage: (request: Request) => boolean
    /** Whether the cookie must not travel in the clear. */
    readonly isSecure: (request: Request) => boolean
    /** False: too many wrong keys came from there lately. */
    readonly mayTry: (request: Request) => Effect.Effect<boolean>
    readonly wrongKey: (request: Request) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<Sessions, never, AdminKey> = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const { sign } = yield* AdminKey
      const publicUrl = yield* PublicUrl
      const wrong = new Map<string, { readonly left: number; readonly at: number }>()

      const signed = (seconds: number) => `v1.${seconds}.${sign(`session v1 ${seconds}`)}`

      const start = Effect.map(Clock.currentTimeMillis, (now): Ticket => {
        const seconds = Math.floor((now + life_ms) / 1000)
        return { value: signed(seconds), expires_at: new Date(seconds * 1000), max_age_seconds: life_ms / 1000 }
      })

      const read = (cookie: string) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const seconds = Number(/^v1\.([1-9][0-9]{0,11})\./.exec(cookie)?.[1])
          return Number.isInteger(seconds) && seconds * 1000 > now && same(cookie, signed(seconds))
            ? Option.some(new Date(seconds * 1000))
            : Option.none()
        })

      const renew = (expires_at: Date) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          expires_at.getTime() - now < life_ms - renewedAfter_ms ? Effect.asSome(start) : Effect.succeedNone
        )

      // Browsers send `Sec-Fetch-Site` on secure addresses only, and `Origin` with every unsafe request.
      const isOwnPage = ({ headers }: Request) => {
        if (headers["sec-fetch-site"] !== undefined) return headers["sec-fetch-site"] === "same-origin"
        const origin = headers.origin === undefined ? undefined : URL.parse(headers.origin)
        if (!origin) return false
        const own = Option.match(publicUrl, { onNone: () => undefined, onSome: (url) => new URL(url).origin })
        return origin.origin === own || origin.host === headers.host
      }

      const isSecure = ({ headers }: Request) =>
        headers["x-forwarded-proto"] === "https" || Option.exists(publicUrl, (url) => url.startsWith("https:"))

      const left = (address: string, now: number) => {
        const known = wrong.get(address)
        return known === undefined ? attempts : Math.min(attempts, known.left + (now - known.at) / pause_ms)
      }
      const mayTry = (request: Request) =>
        Effect.map(Clock.currentTimeMillis, (now) => left(addressOf(request), now) >= 1)
      const wrongKey = (request: Request) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const address = addressOf(request)
          const rest = { left: left(address, now) - 1, at: now }
          wrong.delete(address)
          wrong.set(address, rest)
          if (wrong.size > maxAddresses) wrong.delete(wrong.keys().next().value!)
        })

      return Sessions.of({ start, read, renew, isOwnPage, isSecure, mayTry, wrongKey })
    })
  )
}

/** The nearest one: behind a proxy everybody shares it, for what a proxy says of others can be made up. */
const addressOf = ({ remoteAddress }: Request): string => Option.getOrElse(remoteAddress, () => "")

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
