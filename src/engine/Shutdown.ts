import { Context, Deferred, Effect, Layer, type Scope } from "effect"
import { Unavailable } from "../domain/Errors.ts"
import type { RunId } from "../domain/Id.ts"
import { acquireReleaseSync } from "./Acquire.ts"

/** How the engine is told that its server stops: first no new triggers, then no more waiting. */
export class Shutdown extends Context.Tag("webhook-trigger/Shutdown")<
  Shutdown,
  {
    /** From now on nothing is accepted. */
    readonly begin: Effect.Effect<void>
    readonly begun: Effect.Effect<boolean>
    /** Whoever still waits for an answer is told to come back. */
    readonly stopWaiting: Effect.Effect<void>
    /** Until the scope closes, `stopWaiting` fails it; the run it waits for goes on and is finished after the restart. */
    readonly endsWaiting: <A, E>(
      waiting: Deferred.Deferred<A, E | Unavailable>,
      run_id: RunId
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<Shutdown> = Layer.effect(
    Shutdown,
    Effect.sync(() => {
      let begun = false
      let over = false
      const tellAll = new Set<() => void>()
      return Shutdown.of({
        begin: Effect.sync(() => {
          begun = true
        }),
        begun: Effect.sync(() => begun),
        stopWaiting: Effect.sync(() => {
          over = true
          for (const tell of tellAll) tell()
        }),
        endsWaiting: (waiting, run_id) =>
          acquireReleaseSync(
            () => {
              const tell = () => Deferred.unsafeDone(waiting, Effect.fail(stoppedWaiting(run_id)))
              tellAll.add(tell)
              if (over) tell()
              return tell
            },
            (tell) => tellAll.delete(tell)
          )
      })
    })
  )
}

const stoppedWaiting = (run_id: RunId) =>
  new Unavailable({
    what: "server",
    detail: "The server is stopping. The run goes on; ask for it by its id in a moment.",
    run_id
  })
