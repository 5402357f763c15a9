/**
 * The updates of a run as a UI message stream of the AI SDK, version 1 of its protocol. Its client always reads a stream from
 * the beginning, so the parts have no ids of events.
 */
import * as Json from "../../domain/Json.ts"
import { type AgentReport, reportOf } from "../../domain/run/AgentReport.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { RunUpdate } from "../../engine/progress/RunUpdate.ts"
import { comment } from "./RunEventText.ts"

export const headers = { "x-vercel-ai-ui-message-stream": "v1" }

const part = (chunk: { readonly type: string; readonly [field: string]: unknown }): string =>
  `data: ${Json.stringify(chunk)}\n\n`

/** The message's current text; when another begins, it gets the same id. */
const id = "text"
const textStart = part({ type: "text-start", id })
const textEnd = part({ type: "text-end", id })
const delta = (text: string): string => part({ type: "text-delta", id, delta: text })

const done = "data: [DONE]\n\n"

/** The text of a run's progress for all of its followers; encoded once. */
export const progress = (update: Extract<RunUpdate, { readonly _tag: "Progressed" }>): string =>
  (update.text === undefined ? "" : delta(update.text)) +
  (update.activity === undefined
    ? ""
    : part({ type: "data-activity", data: { text: update.activity }, transient: true }))

const metadata = (run: Run): AgentReport & { readonly run_id: string; readonly status: string } => ({
  run_id: run.run_id,
  status: run.status,
  ...reportOf(run)
})

const finish = (run: Run): string => part({ type: "finish", messageMetadata: metadata(run) })

/** The end of a run that was not successful. The client takes an aborted message for finished. */
const failure = (run: Run): string => {
  const { error, status } = run
  if (status === "cancelled") return part({ type: "abort" })
  const errorText =
    status === "timeout" ? "The run did not end within its timeout." : (error?.message ?? "The run failed.")
  return part({ type: "error", errorText }) + finish(run)
}

/** Encodes the updates for one follower. `encodeProgress` is `progress`, perhaps from memory. */
export const make = <Encoded>(
  encodeProgress: (update: Extract<RunUpdate, { readonly _tag: "Progressed" }>) => Encoded,
  encodeText: (text: string) => Encoded
) => {
  /** The length of the current text; `undefined`: none has begun. */
  let length: number | undefined

  const end = (): string => {
    const text = length === undefined ? "" : textEnd
    length = undefined
    return text
  }
  const whole = (text: string): string => (text === "" ? "" : textStart + delta(text) + textEnd)

  /** The part of the answer that the client lacks: agents often write the answer as progress first. */
  const answer = (response: string, kept: string): string => {
    if (length === undefined) return whole(response)
    const shown = kept.slice(Math.max(0, kept.length - length))
    if (shown.trimEnd().endsWith(response.trim())) return end()
    if (length <= kept.length && response.startsWith(shown)) return delta(response.slice(shown.length)) + end()
    return end() + whole(response)
  }

  return (update: RunUpdate): ReadonlyArray<Encoded> => {
    switch (update._tag) {
      case "Accepted": {
        const { run_id } = update
        return [encodeText(part({ type: "start", messageId: run_id, messageMetadata: { run_id } }))]
      }
      case "Started":
        return []
      case "Restarted":
        return [encodeText(end())]
      case "Progressed": {
        const { text } = update
        const start = text !== undefined && length === undefined ? [encodeText(textStart)] : []
        if (text !== undefined) length = (length ?? 0) + text.length
        return [...start, encodeProgress(update)]
      }
      case "Ended": {
        const { run, text } = update
        const last =
          run.status === "success" ? answer(run.conversation.response ?? "", text) + finish(run) : end() + failure(run)
        return [encodeText(last + done)]
      }
      case "Idle":
        return [encodeText(comment)]
    }
  }
}
