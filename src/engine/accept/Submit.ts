import { Effect } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { Waiting } from "../outcome/Waiting.ts"
import type { RunRequest } from "./Candidates.ts"
import type { Candidate, HandOver, HandOverRefused } from "./HandOver.ts"

/** `Accepted`: the run is stored. `Ended`: the caller waited, and this is the run as it ended. */
export type AcceptedOrEnded =
  | { readonly _tag: "Accepted"; readonly run_id: RunId }
  | { readonly _tag: "Ended"; readonly run: Run }

/**
 * Hands a run over and, if its caller waits, waits for its end as well, unless the caller `follows` it. Interruption leaves
 * the run alone.
 */
export const make =
  ({ accept }: HandOver["Service"], waiting: Waiting["Service"]) =>
  (
    candidate: Candidate,
    { follows = false, onAccepted = Effect.void }: Pick<RunRequest, "follows" | "onAccepted"> = {}
  ): Effect.Effect<AcceptedOrEnded, HandOverRefused | NotFound | Unavailable> => {
    const { run } = candidate
    const { deadline_at: deadline } = run
    if (follows || run.mode === "async" || deadline === undefined) {
      return Effect.map(accept(candidate), (earlier) => ({
        _tag: "Accepted",
        run_id: earlier === undefined ? run.run_id : earlier.run.run_id
      }))
    }
    return waiting
      .watch(run.run_id, { isNew: true }, (end) =>
        Effect.flatMap(Effect.tap(accept(candidate), onAccepted), (earlier) =>
          earlier === undefined
            ? end.before(deadline)
            : waiting.endOf(earlier.run.run_id, earlier.deadline_at ?? deadline)
        )
      )
      .pipe(Effect.map((ended): AcceptedOrEnded => ({ _tag: "Ended", run: ended })))
  }
