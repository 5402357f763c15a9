import { Context, Effect, Layer, type Scope } from "effect"
import type { RunId } from "../../domain/Id.ts"
import type { LaneRun } from "../../repo/LaneStore.ts"
import type { Term } from "../../repo/LeaseStore.ts"
import type { Admission, RunEnd } from "../../repo/RunStore.ts"

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

/** Runs that are being admitted with the commit that ends others. */
export interface AdmissionWithEnds {
  readonly admission: Admission
  /** The runs that were admitted; `undefined`: the result of the commit is unknown. */
  readonly settle: (admitted: ReadonlySet<RunId> | undefined) => void
}

/** The dispatcher's lanes, for those whose commits can also admit runs. */
export interface AdmittingLanes {
  readonly term: () => Term
  /** Takes the slots of a run that is about to be accepted, if it would be the next to be sent. */
  readonly reserve: (run: LaneRun) => Reservation | undefined
  /** This process accepted the run, which waits behind `ahead` (`Acceptance`). */
  readonly accepted: (run: LaneRun, ahead: ReadonlyArray<RunId> | undefined) => void
  /**
   * Selects runs to be admitted with the commit of these ends, in their slots; `undefined`: there are none. To be called
   * before every commit of ends that waited for another one.
   */
  readonly admitWithEnds: (ends: ReadonlyArray<Pick<RunEnd, "run_id" | "outcome">>) => AdmissionWithEnds | undefined
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
