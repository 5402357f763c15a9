import { holds } from "../../domain/run/Held.ts"
import type { Run } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import { mostCounted, type WaitsFor } from "../../domain/run/ShownRun.ts"
import type { QueuedFacts } from "../../repo/history/HistoryStore.ts"

/** Why a held run waits; undefined for another run. */
export const heldBy = ({ held_for, held_until }: Pick<Run, "held_for" | "held_until">): WaitsFor | undefined =>
  held_for && { code: held_for, message: holds[held_for].message, ...(held_until && { until: held_until }) }

/** Why a queued run waits that is not held. `isLed`: its team has a leader; undefined if the broker is out of reach. */
export const waitsFor = (
  { team, webhook_id }: Pick<Run, "team" | "webhook_id">,
  { ahead, is_admitted, is_paused, needs_leader, out, resting_reason, resting_until, webhook_is_full }: QueuedFacts,
  isLed: boolean | undefined
): WaitsFor | undefined => {
  if (is_paused && !is_admitted) {
    return { code: "team_paused", message: `The team ${team} is paused. This run continues when the team is resumed.` }
  }
  if (resting_until !== undefined && !is_admitted) {
    return {
      code: "usage_limit",
      message: `The agent of the team ${team} has reached a usage limit: “${resting_reason ?? ""}”. This run continues when the limit ends, or when the team is resumed.`,
      until: resting_until
    }
  }
  if (isLed === undefined) {
    return { code: "broker", message: "The server cannot reach the broker. This run continues when it can." }
  }
  // Only a run that needs no leader, and is the next one, is sent without one.
  if (!isLed && (is_admitted || needs_leader || ahead > 0 || out !== undefined)) {
    return {
      code: "leader",
      message: `No leader is connected to ${team}. This run continues when one connects.`
    }
  }
  if (is_admitted) return { code: "broker", message: "The broker has not confirmed the prompt yet." }
  const runs = Math.min(ahead + (out !== undefined && !isFinal(out) ? 1 : 0), mostCounted)
  if (runs > 0) {
    const count = runs === mostCounted ? `at least ${runs} earlier runs` : `${runs} earlier run${runs === 1 ? "" : "s"}`
    return { code: "earlier_runs", runs, message: `Waiting for ${count} of the team ${team}.` }
  }
  if (out !== undefined) {
    return {
      code: "earlier_work",
      message: `The last run of the team ${team} has ended, but its agent is still at work.`
    }
  }
  // A chat message needs no slot: it is about to be sent.
  if (webhook_id === undefined) return undefined
  return {
    code: "slot",
    message: `Next in the team's queue, waiting for a free slot. ${
      webhook_is_full
        ? "The webhook's limit (`max_concurrent`) counts the agents at work for it."
        : "The limit (`WEBHOOK_MAX_CONCURRENT`) counts the agents at work of all teams."
    }`
  }
}
