import { Schema } from "effect"
import { RunId, WebhookId } from "../../domain/Id.ts"
import { Variables } from "../../domain/run/Run.ts"
import { finalStatuses } from "../../domain/run/RunStatus.ts"
import { RunSummary } from "../../domain/run/RunSummary.ts"
import { TeamName } from "../../domain/Team.ts"
import { optional, time } from "../../domain/Time.ts"
import { MessageText } from "./Messages.ts"

/** Repeated by one request at most. */
export const mostReplayed = 1_000

const prompt = optional(
  Schema.Literal("template", "same").annotations({
    description:
      "`template` (the default): the webhook's template as it is now, filled in with the values. `same`: the prompt as it was. A chat message has no template: either is its text."
  })
)

/** The body of a request that repeats one run. */
export const ReplayBody = Schema.Struct({
  prompt,
  variables: optional(
    Variables.annotations({
      description: "Values in place of those that the run had; not with `prompt: same`, and not of a chat message."
    })
  ),
  message: optional(
    MessageText.annotations({ description: "Of a chat message only: the text in place of the one that it had." })
  )
})

/** The body of a request that repeats several runs: these, or those that match. */
export const ReplayManyBody = Schema.Struct({
  run_ids: optional(
    Schema.Array(RunId).pipe(
      Schema.minItems(1),
      Schema.maxItems(mostReplayed),
      Schema.annotations({ description: "These runs, in this order, whatever their state." })
    )
  ),
  webhook_id: optional(WebhookId.annotations({ description: "The ended runs of this webhook." })),
  team: optional(
    TeamName.annotations({
      description: "The ended runs of all webhooks that point at this team, and its ended chat messages."
    })
  ),
  status: optional(
    Schema.Array(Schema.Literal(...finalStatuses).annotations({ description: "Runs that have ended like this." })).pipe(
      Schema.minItems(1),
      Schema.annotations({ description: "Only runs that ended as one of these; if absent, `error` and `timeout`." })
    )
  ),
  from: optional(time("Only runs accepted then or later.")),
  to: optional(time("Only runs accepted before then.")),
  prompt,
  dry_run: optional(
    Schema.Boolean.annotations({ description: "`true`: says how many runs that would be, and repeats none." })
  )
})

const refusal = {
  code: Schema.String.annotations({ description: "The code of the problem that a request for this run would get." }),
  detail: Schema.String.annotations({ description: "What is wrong." })
}

export const Replayed = Schema.Struct({
  matched: Schema.Number.annotations({ description: "How many runs this was about." }),
  more: Schema.Boolean.annotations({
    description: `Whether there are more than these ${mostReplayed}: the oldest come first, and the same request again, with another key, goes on with the others.`
  }),
  replayed: Schema.Array(
    Schema.Struct({
      run_id: RunId.annotations({ description: "The new run." }),
      replay_of: RunId.annotations({ description: "The run that it repeats." })
    })
  ).annotations({ description: "The new runs, in the order in which they will be sent." }),
  refused: Schema.Array(
    Schema.Struct({ replay_of: RunId.annotations({ description: "The run that is not repeated." }), ...refusal })
  ).annotations({ description: "The runs that are not repeated, and why." })
}).annotations({ identifier: "Replayed", description: "Runs that were repeated." })

export const ReplayList = Schema.Struct({
  data: Schema.Array(RunSummary).annotations({ description: "Newest first, up to a hundred." })
}).annotations({ identifier: "ReplayList", description: "The runs that repeat a run." })
