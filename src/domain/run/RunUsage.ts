import { Schema } from "effect"
import { optional, time } from "../Time.ts"
import type { AgentUsage } from "./AgentReport.ts"

const sum = (of: string) => optional(Schema.Number.annotations({ description: `${of}; absent if no run reported it.` }))

/** What several runs used, as their agents reported it. */
export const RunUsage = Schema.Struct({
  runs: Schema.Number.annotations({ description: "The number of runs that match." }),
  reported: Schema.Number.annotations({ description: "How many of them reported usage." }),
  cost_usd: sum("The sum of the costs in US dollars"),
  input_tokens: sum("The sum of the input tokens, cached ones included"),
  cached_input_tokens: sum("The sum of the input tokens that were read from a cache"),
  output_tokens: sum("The sum of the output tokens"),
  searched_back_to: optional(
    time("Present if the search stopped early: only runs accepted since this time are counted.")
  )
}).annotations({ identifier: "RunUsage", description: "What the runs used, as their agents reported it." })
export type RunUsage = typeof RunUsage.Type

const amounts = ["cost_usd", "input_tokens", "cached_input_tokens", "output_tokens"] as const

export const noUsage: RunUsage = { runs: 0, reported: 0 }

/** An amount that neither reports stays unknown. */
export const addUsage = (a: RunUsage, b: RunUsage): RunUsage => ({
  runs: a.runs + b.runs,
  reported: a.reported + b.reported,
  ...Object.fromEntries(
    amounts.flatMap((amount) =>
      a[amount] === undefined && b[amount] === undefined ? [] : [[amount, (a[amount] ?? 0) + (b[amount] ?? 0)]]
    )
  )
})

/** The usage of one run. */
export const usageOfOne = (usage: AgentUsage | undefined): RunUsage =>
  usage === undefined ? { runs: 1, reported: 0 } : addUsage({ runs: 1, reported: 1 }, { ...usage, ...noUsage })
