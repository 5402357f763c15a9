import { Context, Effect, Layer, type Scope } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { LaneRun } from "../../repo/run/LaneStore.ts"
import type { Term } from "../../repo/run/LeaseStore.ts"

/**
 * The result of an acceptance: the run was admitted with it; the run waits in its lane; the run was not stored; or the
 * database did not answer.
 */
export type AcceptResult = "admitted" | "waits" | "notStored" | "unknown"

/** The slots of a run that is being accepted. */
export interface Reservation {
  /** Called once. A run that was not admitted gives its slots back. */
  readonly settle: (result: AcceptResult) => void
}

/** The dispatcher's lanes, for acceptances that can also admit runs. */
export interface AdmittingLanes {
  readonly term: () => Term
  /** Takes the slots of a run that is about to be accepted, if it would be the next to be sent. */
  readonly reserve: (run: LaneRun) => Reservation | undefined
  /** This process accepted the run, which waits behind `ahead` (`Acceptance`). */
  readonly accepted: (run: LaneRun, ahead: ReadonlyArray<RunId> | undefined) => void
}

/** The lanes of this process, while it is the dispatcher. */
export class CurrentLanes extends Context.Tag("webhook-trigger/CurrentLanes")<
  CurrentLanes,
  {
    readonly get: () => AdmittingLanes | undefined
    /** These are the lanes until the scope closes. */
    readonly serve: (lanes: AdmittingLanes) => Effect.Effect<void, never, Scope.Scope>
  }
>() {
  static readonly layer: Layer.Layer<CurrentLanes> = Layer.sync(CurrentLanes, () => {
    let current: AdmittingLanes | undefined
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
