/** Cancels or replays the runs of a team or a webhook together. */
import { Effect } from "effect"
import type { Replayed } from "../../api/run/Replays.ts"
import type { QueueCancelled } from "../../api/run/Runs.ts"
import { type At, derived, type Leaf, type None } from "../Command.ts"
import { fieldRule, type Rules } from "../Input.ts"
import { plural } from "../Output.ts"

type Counts = typeof QueueCancelled.Type

/** As in `3 runs and 1 retry`. */
export const queuedText = ({ cancelled, retries }: Counts): string =>
  plural(cancelled, "run") + (retries === 0 ? "" : ` and ${plural(retries, "retry", "retries")}`)

/** The result of `cancel-queued`. */
export const cancelledText = (counts: Counts): string =>
  counts.cancelled + counts.retries === 0 ? "Nothing was queued." : `Cancelled ${queuedText(counts)}.`

const replayedText = ({ more, refused, replayed }: typeof Replayed.Type): string =>
  [
    replayed.length + refused.length === 0 ? "No runs to replay." : `${replayed.length} replayed.`,
    ...(refused.length > 0 ? [`${refused.length} not replayed. The first error: ${refused[0]!.detail}`] : []),
    ...(more ? ["There are more; run the command again."] : [])
  ].join("\n")

/** Replays the runs of what `of` names, which has the name that is asked about. */
export const replayMany = (
  whose: string,
  example: string,
  of: Rules,
  nameOf: (at: At<"runs.replayMany", None>) => string
): Leaf =>
  derived("replay", "runs.replayMany", {
    about: `Replay the failed runs of ${whose} that were not yet replayed`,
    details: "Oldest first, up to 1,000. Run the command again for the next ones.",
    examples: [example],
    rules: {
      ...{ webhook_id: false, team: false, ...of },
      status: (field) => fieldRule(field, { value: "state", about: `${field.about} Default: error and timeout` })
    },
    ask: (at) =>
      Effect.map(at.send({ payload: { ...at.request.payload, dry_run: true } }), ({ matched, more }) =>
        matched === 0 ? undefined : `Replay ${more ? "the oldest " : ""}${matched} runs of ${nameOf(at)}?`
      ),
    text: replayedText
  })
