/** For operators: is the server alive, and can it accept triggers? */
import { Effect, Layer, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { Bus } from "../../bus/Bus.ts"
import { Shutdown } from "../../engine/Shutdown.ts"
import { ClockOffset } from "../../engine/upkeep/DatabaseClock.ts"
import * as SecretKeyAgreement from "../../engine/verify/SecretKeyAgreement.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import * as Problems from "../request/Problems.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** Probes often give up after a second, so they are answered sooner. */
const pingTimeout = "900 millis"

/** `ok`, or the problem. */
const check = <E>(fault: Effect.Effect<Option.Option<string>, E>): Effect.Effect<string> =>
  fault.pipe(
    Effect.map(Option.getOrElse(() => "ok")),
    Effect.timeout(pingTimeout),
    Effect.catch(() => Effect.succeed("out of reach"))
  )

const ping = <E>(ping: Effect.Effect<void, E>): Effect.Effect<string> => check(Effect.as(ping, Option.none()))

interface Parts {
  readonly database: string
  readonly bus: string
  readonly secret_key: string
}

const detailOf = ({ bus, database, secret_key }: Parts): string =>
  database === "ok" && bus === "ok"
    ? secret_key
    : "The database or the bus is out of reach, or the database is read-only."

const live = Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" }))

const makeReady = Effect.gen(function* () {
  const database = yield* ChangeFeed
  const bus = yield* Bus
  const secretKey = yield* SecretKeyAgreement.make
  const shutdown = yield* Shutdown
  const clockOffset = yield* ClockOffset
  return Effect.gen(function* () {
    const parts = yield* Effect.all(
      { database: ping(database.ping), bus: ping(bus.ping), secret_key: check(secretKey.fault) },
      { concurrency: "unbounded" }
    )
    const stopping = shutdown.hasBegun()
    if (!stopping && Object.values(parts).every((part) => part === "ok")) {
      const millis = clockOffset.millis()
      return HttpServerResponse.jsonUnsafe({
        status: "ok",
        ...parts,
        ...(millis !== undefined && { clock_offset_seconds: millis / 1_000 })
      })
    }
    const detail = stopping ? "The server is stopping." : detailOf(parts)
    return Problems.toResponse({ ...Problems.problem(503, { code: "unavailable", detail }), ...parts })
  })
})

export const layer = Layer.merge(
  ReadOnlyRoute.layer("/health/live", Effect.succeed(live)),
  ReadOnlyRoute.layer("/health/ready", makeReady)
)
