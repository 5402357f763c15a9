import { Command } from "@effect/cli"
import { Effect } from "effect"
import { RunUsage } from "../../domain/run/RunUsage.ts"
import { adminOptions, call, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { fields, time } from "../Output.ts"
import { filterOptions, parametersOf } from "./RunFilter.ts"
import { idOf, webhook } from "./WebhookOfRuns.ts"

const describe = (usage: RunUsage) =>
  fields({
    runs: usage.runs,
    "reported usage": usage.reported,
    cost: usage.cost_usd === undefined ? undefined : `$${usage.cost_usd}`,
    "input tokens": usage.input_tokens,
    "cached input tokens": usage.cached_input_tokens,
    "output tokens": usage.output_tokens,
    "only since": time(usage.searched_back_to)
  })

export const usage = Command.make("usage", { webhook, ...filterOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const webhook_id = yield* idOf(options)
    const urlParams = { ...parametersOf(options), webhook_id }
    yield* show(options, RunUsage, yield* call(options, (client) => client.runs.usage({ urlParams })), describe)
  })
).pipe(
  Command.withDescription(
    about("Sum the tokens and the cost of the runs that match the filters", {
      details: "As the agents reported them. The search stops after half a second and shows how far back it went.",
      examples: ["webhook-trigger run usage review --from 2026-01-01"]
    })
  )
)
