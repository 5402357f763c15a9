/** Adds up what runs used. Without schemas, for the web UI. */
import type { AgentUsage } from "./AgentReport.ts"
import type { ReportedUsage, RunUsage } from "./RunUsage.ts"

/** The fields that are added up. */
export const usageAmounts = [
  "cost_usd",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens"
] as const satisfies ReadonlyArray<keyof ReportedUsage>

/** An amount that neither reports stays unknown. */
export const addReported = (a: ReportedUsage, b: ReportedUsage): ReportedUsage => ({
  reported: a.reported + b.reported,
  ...Object.fromEntries(
    usageAmounts.flatMap((amount) =>
      a[amount] === undefined && b[amount] === undefined ? [] : [[amount, (a[amount] ?? 0) + (b[amount] ?? 0)]]
    )
  )
})

export const noUsage: RunUsage = { runs: 0, reported: 0 }

export const addUsage = (a: RunUsage, b: RunUsage): RunUsage => ({ ...addReported(a, b), runs: a.runs + b.runs })

/** The usage of one run. */
export const usageOfOne = (usage: AgentUsage | undefined): RunUsage =>
  usage === undefined ? { runs: 1, reported: 0 } : addUsage({ runs: 1, reported: 1 }, { ...usage, ...noUsage })
