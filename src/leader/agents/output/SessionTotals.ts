import type { AgentReport, AgentUsage } from "../../../domain/run/AgentReport.ts"
import { RecentMap } from "../../../runtime/RecentMap.ts"

/** The totals of at least half as many sessions are remembered. */
const capacity = 2_000

/** A part of the usage that an agent reports for the whole session. */
export type TotalField = Exclude<keyof AgentUsage, "model">

type Totals = { readonly [Field in TotalField]?: number }

/** Sums of dollars are not exact in binary. */
const rounded = (number: number): number => Number(number.toFixed(9))

/** The usage without the part before the run; where that is unknown, so is the run's. */
const minus = (usage: AgentUsage, before: Totals | undefined, fields: ReadonlyArray<TotalField>): AgentUsage => {
  const run: { -readonly [Field in keyof AgentUsage]: AgentUsage[Field] } = { ...usage }
  for (const field of fields) {
    const [total, earlier = 0] = [usage[field], before?.[field]]
    delete run[field]
    if (total !== undefined && before !== undefined && total >= earlier) run[field] = rounded(total - earlier)
  }
  return run
}

/**
 * For agents that report some of what a whole session has used: the report with what the run used. For a session that was
 * begun before this process, that is unknown for the first run.
 */
export const make = (
  fields: ReadonlyArray<TotalField>
): ((report: AgentReport, isContinued: boolean) => AgentReport) => {
  const totals = new RecentMap<string, Totals>(capacity)
  return (report, isContinued) => {
    const { session_id, usage, ...others } = report
    if (session_id === undefined || usage === undefined) return report
    const before = isContinued ? totals.get(session_id) : {}
    totals.set(session_id, { ...before, ...usage })
    const run = minus(usage, before, fields)
    return { ...others, session_id, ...(Object.keys(run).length > 0 && { usage: run }) }
  }
}
