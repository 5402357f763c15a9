import { Context, Effect, Layer } from "effect"

/** How a stopping server tells the engine: first no new triggers, then no more waiting. */
export class Shutdown extends Context.Service<
  Shutdown,
  {
    /** From now on nothing is accepted. */
    readonly begin: Effect.Effect<void>
    readonly hasBegun: () => boolean
    /** Callers that still wait get an answer without a result; their runs continue and finish after the restart. */
    readonly stopWaiting: Effect.Effect<void>
    /** Calls `listener` when waiting ends, or now if it has ended, until the returned function is called. */
    readonly onStopWaiting: (listener: () => void) => () => void
  }
>()("webhook-trigger/Shutdown") {
  static readonly layer: Layer.Layer<Shutdown> = Layer.sync(Shutdown, () => {
    let begun = false
    let waitingIsOver = false
    const listeners = new Set<() => void>()
    return Shutdown.of({
      begin: Effect.sync(() => {
        begun = true
      }),
      hasBegun: () => begun,
      stopWaiting: Effect.sync(() => {
        waitingIsOver = true
        for (const listener of listeners) listener()
      }),
      onStopWaiting: (listener) => {
        listeners.add(listener)
        if (waitingIsOver) listener()
        return () => listeners.delete(listener)
      }
    })
  })
}
