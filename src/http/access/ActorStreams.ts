/** Streams to someone who manages the server. */
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Option, Stream } from "effect"
import { Actor } from "../../api/Auth.ts"
import { Sessions } from "../../engine/access/Sessions.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { TrustedProxies } from "../request/TrustedProxies.ts"
import * as SessionCookie from "./SessionCookie.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Ends before the first item that fails the condition. */
const whileTrue = <A>(items: Stream.Stream<A>, condition: Effect.Effect<boolean>): Stream.Stream<A> =>
  items.pipe(
    Stream.chunks,
    Stream.mapEffect((item) => Effect.map(condition, (holds) => (holds ? Option.some(item) : Option.none()))),
    Stream.takeWhile(Option.isSome),
    Stream.map(({ value }) => value),
    Stream.flattenChunks
  )

export const make = Effect.gen(function* () {
  const sessions = yield* Sessions
  const cookie = yield* SessionCookie.make
  const proxies = yield* TrustedProxies

  return (request: Request) =>
    Effect.map(Actor, (actor) => {
      const isOpen = Effect.map(Effect.option(sessions.find(cookie.of(request))), Option.exists(Option.isSome))
      return {
        /** Programs with the admin key have no session, and count by address. */
        owner: actor._tag === "Session" ? actor.id : clientAddress(proxies, request),
        /** The stream ends with the session. It also ends while the database is unreachable; the client then reconnects. */
        whileSignedIn: <A>(stream: Stream.Stream<A>): Stream.Stream<A> =>
          actor._tag === "Session" ? whileTrue(stream, isOpen) : stream
      }
    })
})
