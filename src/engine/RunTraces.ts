import { Context, Layer } from "effect"
import type { RunId } from "../domain/Id.ts"

/** As many as are remembered: of the runs that were accepted last. */
const most = 10_000

/**
 * The traces of runs that this process has accepted, so that it sends their prompts in the same trace. They are not stored: a
 * prompt that another process sends, or this one after a restart, begins a trace of its own.
 */
export class RunTraces extends Context.Tag("webhook-trigger/RunTraces")<
  RunTraces,
  {
    readonly set: (run_id: RunId, traceparent: string) => void
    readonly get: (run_id: RunId) => string | undefined
  }
>() {
  static readonly layer: Layer.Layer<RunTraces> = Layer.sync(RunTraces, () => {
    const traces = new Map<RunId, string>()
    return RunTraces.of({
      set: (run_id, traceparent) => {
        traces.set(run_id, traceparent)
        if (traces.size > most) traces.delete(traces.keys().next().value!)
      },
      get: (run_id) => traces.get(run_id)
    })
  })
}
