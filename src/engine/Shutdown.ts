import { Context, Deferred, Effect, Layer } from "effect"
import { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"

/** How the engine is told that its server stops: first no new triggers, then no more waiting. */
export class Shutdown extends Context.Tag("webhook-trigger/Shutdown")<
  Shutdown,
  {
    /** From now on nothing is accepted. */
    readonly begin: Effect.Effect<void>
    readonly begun: Effect.Effect<boolean>
    /** Whoever still waits for an answer is told to come back. */
    readonly stopWaiting: Effect.Effect<void>
    /** Fails once `stopWaiting` was called; the run it names goes on and is finished after the restart. */
    readonly waitingEnds: (run_id: RunId) => Effect.Effect<never, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Shutdown> = Layer.effect(
    Shutdown,
    Effect.gen(function* () {
      let begun = false
      const over = yield* Deferred.make<void>()
      return Shutdown.of({
        begin: Effect.sync(() => {
          begun = true
        }),
        begun: Effect.sync(() => begun),
        stopWaiting: Effect.asVoid(Deferred.succeed(over, undefined)),
        waitingEnds: (run_id) =>
          Effect.zipRight(
            Deferred.await(over),
            new Unavailable({
              what: "server",
              detail: "The server is stopping. The run goes on; ask for it by its id in a moment.",
              run_id
            })
          )
      })
    })
  )
}
