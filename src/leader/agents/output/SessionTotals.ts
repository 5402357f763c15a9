/** For agents that report what a whole session has used: what of it the run used. */
import { Struct } from "effect"
import type { Prompt } from "../../../bus/Bus.ts"
import type { AgentUsage, SessionUsage } from "../../../domain/run/AgentReport.ts"
import { RecentMap } from "../../../runtime/RecentMap.ts"
import type { Events } from "./EventReader.ts"
import { nothing, type Reading } from "./Reading.ts"

/** The totals of at least half as many sessions are remembered, for prompts that a server of an earlier release sends. */
const capacity = 2_000

/** Sums of dollars are not exact in binary. */
const rounded = (number: number): number => Number(number.toFixed(9))

const minus = (totals: SessionUsage, before: SessionUsage): SessionUsage =>
  Object.fromEntries(Struct.keys(totals).map((field) => [field, rounded(totals[field]! - (before[field] ?? 0))]))

export const make = () => {
  const latest = new RecentMap<string, SessionUsage>(capacity)
  /** Versions of the program that count the run, not the session. */
  const countsRuns = new Set<string>()

  /**
   * The run's usage; `undefined` if unknown. Programs do not say what they count: totals that are too small to
   * contain both those before and the run are the run's own.
   */
  const usageOfRun = ({ least = {}, totals = {}, version = "" }: Reading, before: SessionUsage | undefined) => {
    if (countsRuns.has(version)) return totals
    const fields = Struct.keys(totals)
    if (before === undefined) return fields.every((field) => totals[field]! <= (least[field] ?? 0)) ? totals : undefined
    const added = minus(totals, before)
    if (fields.every((field) => added[field]! >= (least[field] ?? 0))) return added
    if (version !== "") countsRuns.add(version)
    return totals
  }

  /** The totals before the run, which is in this session, or begins one; `undefined` if they are unknown. */
  const before = (session: string | undefined, { thread }: Prompt): SessionUsage | undefined =>
    session === undefined ? {} : (thread?.session_usage ?? latest.get(session))

  /** The reading with what the run used. */
  const counted = (reading: Reading, before: SessionUsage | undefined): Reading => {
    const { report, totals } = reading
    if (totals === undefined) return reading
    if (report?.session_id !== undefined) latest.set(report.session_id, totals)
    const others = Struct.omit(report?.usage ?? {}, Struct.keys(totals))
    const usage: AgentUsage = { ...others, ...usageOfRun(reading, before) }
    const known = Struct.keys(usage).length > 0 ? { usage } : {}
    return { ...reading, report: { ...Struct.omit(report ?? {}, ["usage"]), ...known, session_usage: totals } }
  }

  /** The events, with what the run used. A run that ends without totals reports those before. */
  const counting = (events: Events, before: SessionUsage | undefined): Events => {
    const isContinued = before !== undefined && Struct.keys(before).length > 0
    const first = isContinued ? { report: { session_usage: before } } : nothing
    return {
      ...events,
      read: (reading, event) => {
        const next = events.read(reading === nothing ? first : reading, event)
        return next.totals === reading.totals ? next : counted(next, before)
      }
    }
  }
  return { before, counted, counting }
}
