/** Streams to someone who manages the server. */
import { DateTime, Effect, Option, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Actor } from "../../api/access/Auth.ts"
import { Unauthorized } from "../../domain/Errors.ts"
import type { ApiKeyId } from "../../domain/Id.ts"
import { ApiKeys, voidBecause } from "../../engine/access/ApiKeys.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as SessionCookie from "./SessionCookie.ts"

/** Whose streams are limited together. */
export type StreamOwner = { readonly of: "session" | "key"; readonly id: string }

const ended = new Unauthorized({ detail: "The session or the API key has ended." })

type Request = HttpServerRequest.HttpServerRequest

/** Ends before the first item that fails the condition. */
export const whileTrue = <A>(items: Stream.Stream<A>, condition: Effect.Effect<boolean>): Stream.Stream<A> =>
  items.pipe(
    Stream.chunks,
    Stream.mapEffect((item) => Effect.map(condition, (holds) => (holds ? Option.some(item) : Option.none()))),
    Stream.takeWhile(Option.isSome),
    Stream.map(({ value }) => value),
    Stream.flattenArray
  )

/** Whether the API key has neither been revoked nor expired. */
export const keyWorks = (keys: ApiKeys["Service"], id: ApiKeyId) =>
  Effect.gen(function* () {
    const now = yield* DateTime.now
    return Option.exists(yield* keys.findById(id), (key) => Option.isNone(voidBecause(key, now)))
  })

export const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const keys = yield* ApiKeys
  const cookie = yield* SessionCookie.make
  const proxies = yield* TrustedProxies

  return (request: Request) =>
    Effect.map(Actor, ({ key, session }) => {
      const holds = session
        ? Effect.map(sessions.find(cookie.of(request)), Option.isSome)
        : key && keyWorks(keys, key.id)
      /**
       * The streams of an API key or a person count together, however many sessions there are. With the admin key, each
       * session counts, and programs by address.
       */
      const owner: StreamOwner =
        key === undefined
          ? { of: "session", id: session?.person?.id ?? session?.id ?? clientAddress(proxies, request) }
          : { of: "key", id: key.id }
      return {
        owner,
        /** Fails once the session or the API key has ended. */
        stillSignedIn:
          holds === undefined
            ? Effect.void
            : Effect.filterOrFail(
                holds,
                (it) => it,
                () => ended
              ).pipe(Effect.asVoid),
        /**
         * The stream ends with the session or the API key. It also ends while the database is unreachable; the client then
         * reconnects.
         */
        whileSignedIn: <A>(stream: Stream.Stream<A>): Stream.Stream<A> =>
          holds === undefined
            ? stream
            : whileTrue(
                stream,
                Effect.orElseSucceed(holds, () => false)
              )
      }
    })
})
