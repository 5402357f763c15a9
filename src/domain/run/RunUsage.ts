import { Schema } from "effect"
import { optional, time } from "../Time.ts"

const sum = (of: string) => optional(Schema.Finite.annotate({ description: `${of}; absent if no run reported it.` }))

/** The usage of those of several runs that reported it. */
export const ReportedUsage = Schema.Struct({
  reported: Schema.Finite.annotate({ description: "How many of the runs reported usage." }),
  cost_usd: sum("The sum of the costs in US dollars"),
  input_tokens: sum("The sum of the input tokens, cached ones included"),
  cached_input_tokens: sum("The sum of the input tokens that were read from a cache"),
  output_tokens: sum("The sum of the output tokens")
})
export type ReportedUsage = typeof ReportedUsage.Type

/** The usage of several runs, as their agents reported it. */
export const RunUsage = Schema.Struct({
  runs: Schema.Finite.annotate({ description: "The number of runs that match." }),
  ...ReportedUsage.fields,
  searched_back_to: optional(
    time("Present if the search stopped early: only runs accepted since this time are counted.")
  )
}).annotate({ identifier: "RunUsage", description: "What the runs used, as their agents reported it." })
export type RunUsage = typeof RunUsage.Type
