import type { AgentReport, AgentUsage } from "../../domain/run/AgentReport.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"

/** The totals of at least half as many sessions are remembered. */
const capacity = 2_000

const difference = (total: number | undefined, before: number | undefined): number | undefined =>
  total === undefined || total < (before ?? 0) ? undefined : total - (before ?? 0)

const minus = (total: AgentUsage, before: AgentUsage): AgentUsage => {
  const { cached_input_tokens, input_tokens, output_tokens, ...others } = total
  const [input, cached, output] = [
    difference(input_tokens, before.input_tokens),
    difference(cached_input_tokens, before.cached_input_tokens),
    difference(output_tokens, before.output_tokens)
  ]
  return {
    ...others,
    ...(input !== undefined && { input_tokens: input }),
    ...(cached !== undefined && { cached_input_tokens: cached }),
    ...(output !== undefined && { output_tokens: output })
  }
}

/**
 * For agents that report what a whole session has used: the report with what the run used. For a session that was begun
 * before this process, the first run's usage is unknown.
 */
export const make = (): ((report: AgentReport, isContinued: boolean) => AgentReport) => {
  const totals = new RecentMap<string, AgentUsage>(capacity)
  return (report, isContinued) => {
    const { session_id, usage, ...others } = report
    if (session_id === undefined || usage === undefined) return report
    const before = isContinued ? totals.get(session_id) : {}
    totals.set(session_id, usage)
    return { ...others, session_id, ...(before !== undefined && { usage: minus(usage, before) }) }
  }
}
