/** For operators: is the server alive, and can it accept triggers? */
import { HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import { Bus } from "../bus/Bus.ts"
import { Shutdown } from "../engine/Shutdown.ts"
import { ChangeFeed } from "../repo/ChangeFeed.ts"
import * as Problems from "./Problems.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** Probes often give up after one second; they are answered before that. */
const pingTimeout = "900 millis"

const check = <E>(ping: Effect.Effect<void, E>): Effect.Effect<"ok" | "out of reach"> =>
  ping.pipe(
    Effect.as("ok" as const),
    Effect.timeout(pingTimeout),
    Effect.catchAll(() => Effect.succeed("out of reach" as const))
  )

const live = Effect.succeed(HttpServerResponse.unsafeJson({ status: "ok" }))

const makeReady = Effect.gen(function* () {
  const database = yield* ChangeFeed
  const bus = yield* Bus
  const shutdown = yield* Shutdown
  return Effect.gen(function* () {
    const parts = yield* Effect.all(
      { database: check(database.ping), bus: check(bus.ping) },
      { concurrency: "unbounded" }
    )
    const stopping = shutdown.hasBegun()
    if (!stopping && parts.database === "ok" && parts.bus === "ok") {
      return HttpServerResponse.unsafeJson({ status: "ok", ...parts })
    }
    const detail = stopping ? "The server is stopping." : "The database or the bus is out of reach."
    return Problems.toResponse({ ...Problems.problem(503, { code: "unavailable", detail }), ...parts })
  })
})

export const layer = Layer.merge(
  ReadOnlyRoute.layer("/health/live", Effect.succeed(live)),
  ReadOnlyRoute.layer("/health/ready", makeReady)
)
