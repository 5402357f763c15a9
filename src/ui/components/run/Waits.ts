/** The reasons why a queued run waits. */
import type { WaitsFor } from "../../../domain/run/ShownRun.ts"
import type { RunSummary, Team } from "../../api/Types.ts"
import { formatClock } from "../../format/Time.tsx"

type Code = WaitsFor["code"]
interface Why {
  readonly code: Code
  readonly until?: string | undefined
}

/** After "waits" or "waiting"; `until`: when that ends. */
const objects: { readonly [C in Code]: (until: string) => string } = {
  approval: () => "for approval",
  window: (until) => `for more requests${until}`,
  webhook_paused: () => "for its webhook to be resumed",
  time: (until) => until.trim(),
  team_paused: () => "for its team to be resumed",
  usage_limit: (until) => `for the end of a usage limit${until}`,
  leader: () => "for its leader",
  earlier_runs: () => "for earlier runs",
  earlier_work: () => "for earlier work to stop",
  slot: () => "for a free slot",
  broker: () => "for the broker"
}

type Waiting = Pick<RunSummary, "held_for" | "held_until" | "status"> & { readonly waits_for?: Why | undefined }
type Receiver = Pick<Team, "paused_at" | "resting_until" | "running">

const ofTeam = ({ paused_at, resting_until, running }: Receiver): Why | undefined => {
  if (paused_at !== undefined) return { code: "team_paused" }
  if (resting_until !== undefined) return { code: "usage_limit", until: resting_until }
  return running ? undefined : { code: "leader" }
}

/** As in `until 14:00`, after "waits" or "waiting". `undefined`: it does not wait, or for nothing that is known. */
export const waitOf = ({ held_for, held_until, status, waits_for }: Waiting, team?: Receiver): string | undefined => {
  if (status !== "queued") return undefined
  const why: Why | undefined = waits_for ?? (held_for ? { code: held_for, until: held_until } : team && ofTeam(team))
  return why && objects[why.code](why.until === undefined ? "" : ` until ${formatClock(why.until)}`)
}
