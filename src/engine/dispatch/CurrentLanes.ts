import { Context, Effect, Layer, type Scope } from "effect"
import type { Lanes } from "./Lanes.ts"

/** The lanes of this process, while it is the dispatcher: by them a run can be admitted with its acceptance. */
export class CurrentLanes extends Context.Tag("webhook-trigger/CurrentLanes")<
  CurrentLanes,
  {
    readonly get: () => Lanes | undefined
    /** These are the lanes until the scope closes. */
    readonly serve: (lanes: Lanes) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<CurrentLanes> = Layer.sync(CurrentLanes, () => {
    let current: Lanes | undefined
    return CurrentLanes.of({
      get: () => current,
      serve: (lanes) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            current = lanes
          }),
          () =>
            Effect.sync(() => {
              current = undefined
            })
        )
    })
  })
}
