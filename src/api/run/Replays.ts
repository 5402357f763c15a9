import { Schema } from "effect"
import { RunId, WebhookId } from "../../domain/Id.ts"
import { Variables } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import { RunSummary } from "../../domain/run/RunSummary.ts"
import { TeamName } from "../../domain/Team.ts"
import { ThreadKey } from "../../domain/Thread.ts"
import { optional, time } from "../../domain/Time.ts"
import { listFields } from "../List.ts"
import { problemCode } from "../Problem.ts"
import { MessageText } from "./Messages.ts"
import { mostReplayed } from "./MostReplayed.ts"

export { mostReplayed }

const prompt = optional(
  Schema.Literals(["template", "same"]).annotate({
    description:
      "`template` (the default): render the webhook's current template again. `same`: send the same prompt. For a chat message there is no difference."
  })
)

/** The body of a request that replays one run. */
export const ReplayBody = Schema.Struct({
  prompt,
  variables: optional(
    Variables.annotate({
      identifier: undefined,
      description: "New values; by default the values of the run. Not with `prompt: same`, and not for a chat message."
    })
  ),
  message: optional(MessageText.annotate({ description: "Only for a chat message: a new text." })),
  thread: optional(
    Schema.NullOr(ThreadKey).annotate({
      description: "The key of the new run's thread; `null`: it stands alone. By default the thread of the run."
    })
  )
})

/** The body of a request that replays several runs: the given ones, or all that match. */
export const ReplayManyBody = Schema.Struct({
  run_ids: optional(
    Schema.Array(RunId)
      .check(Schema.isMinLength(1), Schema.isMaxLength(mostReplayed))
      .annotate({ description: "These runs, in this order, in any state." })
  ),
  webhook_id: optional(WebhookId.annotate({ description: "The ended runs of this webhook." })),
  team: optional(
    TeamName.annotate({
      description: "The ended runs of all webhooks of this team, and its ended chat messages."
    })
  ),
  status: optional(
    Schema.Array(Schema.Literals(finalStatuses).annotate({ description: "A final status." }))
      .check(Schema.isMinLength(1))
      .annotate({ description: "Only runs with these statuses; by default `error` and `timeout`." })
  ),
  from: optional(time("Only runs accepted at or after this time.")),
  to: optional(time("Only runs accepted before this time.")),
  prompt,
  dry_run: optional(Schema.Boolean.annotate({ description: "`true`: only counts the runs." }))
})

/** Why a request with several runs did nothing for one of them. */
export const refusal = {
  code: problemCode.annotate({ description: "The error code, as for a request for only this run." }),
  detail: Schema.String.annotate({ description: "The reason." })
}

export const Replayed = Schema.Struct({
  matched: Schema.Finite.annotate({ description: "The number of runs that matched." }),
  more: Schema.Boolean.annotate({
    description: `Whether more than ${mostReplayed} runs match. The oldest are replayed first; repeat the request with another key for the others.`
  }),
  replayed: Schema.Array(
    Schema.Struct({
      run_id: RunId.annotate({ description: "The new run." }),
      replay_of: RunId.annotate({ description: "The original run." })
    })
  ).annotate({ description: "The new runs, in the order of sending." }),
  refused: Schema.Array(
    Schema.Struct({ replay_of: RunId.annotate({ description: "The original run." }), ...refusal })
  ).annotate({ description: "The runs that could not be replayed, and why." })
}).annotate({ identifier: "Replayed", description: "The result of a replay." })

export const ReplayList = Schema.Struct(listFields(RunSummary, "Newest first, up to 100.")).annotate({
  identifier: "ReplayList",
  description: "The replays of a run."
})
