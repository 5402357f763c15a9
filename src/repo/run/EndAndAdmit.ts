import { type Context, Effect } from "effect"
import { Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { LaneStore } from "./LaneStore.ts"
import { firstOfEach } from "./RunEnd.ts"
import type { RunStore } from "./RunStore.ts"

type Runs = Context.Tag.Service<RunStore>

/** `RunStore.endAndAdmit`. For a driver without it: two commits, `end` and then `LaneStore.admit`. */
export const endAndAdmitOf = (
  runs: Runs,
  { admit }: Pick<Context.Tag.Service<LaneStore>, "admit">
): NonNullable<Runs["endAndAdmit"]> =>
  runs.endAndAdmit ??
  Effect.fnUntraced(function* (ends, { at, run_ids, term }) {
    const none: ReadonlySet<RunId> = new Set()
    const ended = yield* runs.end(ends)
    const recorded = ended.filter((each) => each.recorded).length
    if (recorded < firstOfEach(ends).length) return { ended, admitted: none }
    const events = Array.from(run_ids, (run_id) => ({ run_id, at }))
    const admitted = yield* admit(events, term, at).pipe(
      Effect.catchTag("LeaseLost", () => Effect.succeed(none)),
      // The ends are recorded, so it must not report `not_done`.
      Effect.catchTag("Unavailable", ({ detail, what }) => new Unavailable({ what, detail }))
    )
    return { ended, admitted }
  })
