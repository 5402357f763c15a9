/** The limits of a run, for agents that do not keep them themselves: what they report is counted while they work. */
import type { AgentRequest } from "../../../domain/run/AgentRequest.ts"
import type { Events } from "./EventReader.ts"
import type { Reading } from "./Reading.ts"

export const turnsExceeded = (most: number | undefined): Reading => ({
  code: "turns_exceeded",
  failure: `The agent was stopped at the limit of ${most === undefined ? "" : `${most} `}turns per run (max_turns)`
})

export const costExceeded = (most: number | undefined): Reading => ({
  code: "cost_exceeded",
  failure: `The agent was stopped at the limit of ${most === undefined ? "cost" : `$${most}`} per run (max_cost)`
})

/** The events until a limit is reached. Then the reading has failed, and nothing more is read. An answer that is complete counts. */
export const limiting = (events: Events, { max_cost, max_turns }: AgentRequest): Events => {
  if (max_turns === undefined && max_cost === undefined) return events
  let turns = 0
  let isModel = false
  const exceeded = (reading: Reading, event: unknown): Reading | undefined => {
    const isOver = max_turns !== undefined && (turns > max_turns || (turns === max_turns && events.usesTool?.(event)))
    if (isOver) return turnsExceeded(max_turns)
    const cost = reading.report?.usage?.cost_usd
    return max_cost !== undefined && cost !== undefined && cost > max_cost ? costExceeded(max_cost) : undefined
  }
  return {
    ...events,
    read: (before, event) => {
      if (before.code !== undefined) return before
      const speaker = events.speaker?.(event)
      if (speaker === "model" && !isModel) turns++
      if (speaker !== undefined) isModel = speaker === "model"
      const reading = events.read(before, event)
      return reading.isDone ? reading : { ...reading, ...exceeded(reading, event) }
    }
  }
}
