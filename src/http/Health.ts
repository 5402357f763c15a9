/** For operators: is the server alive, and can it accept triggers? */
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import { Bus } from "../bus/Bus.ts"
import { Shutdown } from "../engine/Shutdown.ts"
import { ChangeFeed } from "../repo/ChangeFeed.ts"
import * as Problems from "./Problems.ts"
import * as RequestLog from "./RequestLog.ts"

/** Probes often give up after one second; they are answered before that. */
const pingTimeout = "900 millis"

const check = <E>(ping: Effect.Effect<void, E>): Effect.Effect<"ok" | "out of reach"> =>
  ping.pipe(
    Effect.as("ok" as const),
    Effect.timeout(pingTimeout),
    Effect.catchAll(() => Effect.succeed("out of reach" as const))
  )

/** Whether database and bus answer. */
export const checks = Effect.flatMap(Effect.all([ChangeFeed, Bus]), ([database, bus]) =>
  Effect.all({ database: check(database.ping), bus: check(bus.ping) }, { concurrency: "unbounded" })
)

const make = Effect.gen(function* () {
  const router = yield* HttpLayerRouter.HttpRouter
  const shutdown = yield* Shutdown
  const context = yield* Effect.context<Bus | ChangeFeed>()

  const live = Effect.succeed(HttpServerResponse.unsafeJson({ status: "ok" }))

  const ready = Effect.gen(function* () {
    const parts = yield* Effect.provide(checks, context)
    const stopping = shutdown.hasBegun()
    if (!stopping && parts.database === "ok" && parts.bus === "ok") {
      return HttpServerResponse.unsafeJson({ status: "ok", ...parts })
    }
    const detail = stopping ? "The server is stopping." : "The database or the bus is out of reach."
    return Problems.toResponse({ ...Problems.problem(503, { code: "unavailable", detail }), ...parts })
  })

  yield* router.add("GET", "/health/live", RequestLog.observe("/health/live", live))
  yield* router.add("GET", "/health/ready", RequestLog.observe("/health/ready", ready))
})

export const layer = Layer.scopedDiscard(make)
