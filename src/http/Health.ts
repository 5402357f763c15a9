/** For whoever keeps the server running: is it alive, and can it take triggers? */
import { HttpLayerRouter, HttpServerResponse } from "@effect/platform"
import { Effect, Layer } from "effect"
import { Bus } from "../bus/Bus.ts"
import { Shutdown } from "../engine/Shutdown.ts"
import { Repo } from "../repo/Repo.ts"
import * as Access from "./Access.ts"
import * as Problems from "./Problems.ts"

/** A probe is answered before whoever asks gives up, which is often after one second. */
const patience = "900 millis"

const answers = <E>(ping: Effect.Effect<void, E>): Effect.Effect<"ok" | "out of reach"> =>
  ping.pipe(
    Effect.as("ok" as const),
    Effect.timeout(patience),
    Effect.catchAll(() => Effect.succeed("out of reach" as const))
  )

/** Whether database and bus answer. */
export const check = Effect.flatMap(Effect.all([Repo, Bus]), ([repo, bus]) =>
  Effect.all({ database: answers(repo.ping), bus: answers(bus.ping) }, { concurrency: "unbounded" })
)

const make = Effect.gen(function* () {
  const router = yield* HttpLayerRouter.HttpRouter
  const shutdown = yield* Shutdown
  const parts = yield* Effect.context<Bus | Repo>()

  const live = Effect.succeed(HttpServerResponse.unsafeJson({ status: "ok" }))

  const ready = Effect.gen(function* () {
    const checks = yield* Effect.provide(check, parts)
    const stopping = yield* shutdown.begun
    if (!stopping && checks.database === "ok" && checks.bus === "ok") {
      return HttpServerResponse.unsafeJson({ status: "ok", ...checks })
    }
    const detail = stopping ? "The server is stopping." : "Database or bus is out of reach."
    return Problems.toResponse({ ...Problems.problem(503, { code: "unavailable", detail }), ...checks })
  })

  yield* router.add("GET", "/health/live", Access.observe("/health/live", live))
  yield* router.add("GET", "/health/ready", Access.observe("/health/ready", ready))
})

export const layer = Layer.scopedDiscard(make)
