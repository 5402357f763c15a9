/** The updates of a run as the events of this server. */

import { DateTime } from "effect"
import { Sse } from "effect/encoding"
import { endId, type RunEvent } from "../../api/run/RunEvents.ts"
import * as Json from "../../domain/Json.ts"
import { reportOf } from "../../domain/run/AgentReport.ts"
import type { Run } from "../../domain/run/Run.ts"
import { mark, type RunUpdate } from "../../engine/progress/RunUpdate.ts"
import { bodies } from "../trigger/RunAnswer.ts"

/** Written by hand, because the encoder writes no comments. */
export const comment = ":\n\n"

const write = (event: RunEvent["event"], id: number | string, data: unknown): string =>
  Sse.encoder.write({ _tag: "Event", event, id: String(id), data: Json.stringify(data) })

const ended = (run: Run): string => {
  const { conversation, error, run_id, status } = run
  switch (status) {
    case "success":
      return write(status, endId, bodies.success(run_id, conversation.response ?? "", reportOf(run)))
    case "error":
      return write(status, endId, bodies.error(run_id, error!, reportOf(run)))
    case "timeout":
      return write(status, endId, bodies.timeout(run))
    case "cancelled":
      return write(status, endId, bodies.cancelled(run_id))
    // Not the end of a run.
    case "queued":
    case "running":
      return comment
  }
}

/** The update for the webhook's caller: without the commands and files of the agent. */
export const withoutSteps = (update: RunUpdate): RunUpdate => {
  if (update._tag !== "Progressed" || update.steps === undefined) return update
  const { steps: _, ...rest } = update
  return rest.text === undefined && rest.activity === undefined ? { _tag: "Idle" } : rest
}

export const encode = (update: RunUpdate): string => {
  switch (update._tag) {
    case "Accepted":
      return write("accepted", mark.accepted, bodies.accepted(update.run_id))
    case "Started": {
      const { run_id, started_at } = update
      const data = { status: "running", run_id, ...(started_at && { started_at: DateTime.formatIso(started_at) }) }
      return write("started", mark.started, data)
    }
    case "Restarted":
      return write("progress", update.position, { restart: true })
    case "Progressed": {
      const { activity, position, steps, text } = update
      return write("progress", position, {
        ...(text !== undefined && { text }),
        ...(activity !== undefined && { activity }),
        ...(steps && { steps })
      })
    }
    case "Ended":
      return ended(update.run)
    case "Idle":
      return comment
  }
}
