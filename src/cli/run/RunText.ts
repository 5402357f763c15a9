/** Runs as text. */

import type { WebhookId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import { cancellerNames } from "../../domain/run/Canceller.ts"
import { requestText } from "../../domain/run/RequestText.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { RunFile } from "../../domain/run/RunFile.ts"
import { isUnreleased, phaseOf } from "../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import { errorLine, titleOf } from "../../domain/run/RunTitle.ts"
import type { ShownRun } from "../../domain/run/ShownRun.ts"
import { resultOf, type Step, sizeText } from "../../domain/run/Step.ts"
import { workspaceLine } from "../../domain/run/WorkspaceLine.ts"
import { ago, elapsed, fields, section, shortId, table, time, timeAndAge } from "../Output.ts"

/** With the webhooks' `names`, the table also has the webhook and the team of each run. */
export const runTable = (runs: ReadonlyArray<RunSummary>, names: ReadonlyMap<WebhookId, string> | undefined): string =>
  table(
    ["STATUS", "TITLE", "RUN", "ACCEPTED", ...(names ? ["WEBHOOK", "TEAM"] : []), "DURATION", "ERROR", "MODE"],
    runs.map((run) => [
      phaseOf(run),
      titleOf(run),
      shortId(run.run_id),
      ago(run.accepted_at),
      ...(names
        ? [run.webhook_id === undefined ? "(chat)" : (names.get(run.webhook_id) ?? run.webhook_id), run.team]
        : []),
      elapsed(run.duration_ms),
      errorLine(run) ?? "",
      run.mode
    ])
  )

/** The agent's steps, a line each. */
export const stepTable = (steps: ReadonlyArray<Step>): string =>
  steps.length === 0
    ? "No steps were reported, or they are no longer kept."
    : table(
        ["TIME", "STEP", "RESULT"],
        steps.map(({ at, title, tool, ...step }) => [
          at.slice(0, 19).replace("T", " "),
          tool === undefined || title.startsWith(tool) ? title : `${tool}: ${title}`,
          resultOf(step) ?? ""
        ])
      )

const sizeOf = ({ size }: RunFile): string => (size === undefined ? "not fetched" : sizeText(size))

export const fileTable = (files: ReadonlyArray<RunFile>): string =>
  files.length === 0
    ? "The run has no files."
    : table(
        ["NAME", "ID", "TYPE", "SIZE"],
        files.map((file) => [file.name, file.id, file.type, file.missing ?? sizeOf(file)])
      )

const tokensText = (usage: Run["usage"]): string | undefined => {
  const counts = [
    ["input", usage?.input_tokens],
    ["cached", usage?.cached_input_tokens],
    ["output", usage?.output_tokens]
  ] as const
  const known = counts.flatMap(([kind, count]) => (count === undefined ? [] : [`${count} ${kind}`]))
  return known.length === 0 ? undefined : known.join(", ")
}

/** The state of the agent of a run that ended before its leader was done. */
const agentText = (run: Run): string | undefined =>
  run.unconfirmed
    ? "may still work: its leader did not confirm the stop"
    : isUnreleased(run)
      ? `still works; stop: ${time(run.stop_at)}`
      : undefined

export const describeRun = (run: ShownRun, replays: ReadonlyArray<RunSummary>) =>
  [
    fields({
      run: run.run_id,
      title: run.title,
      status: phaseOf(run),
      waiting: run.waits_for?.message,
      [run.held_for === "webhook_paused" ? "not before" : "held until"]: time(run.held_until),
      "requests combined": run.joined,
      [run.cancelled_by === "denied" ? "denied by" : "approved by"]: run.decided_by,
      source: run.source,
      thread: run.thread?.key,
      attempt: run.attempt && `${run.attempt} of ${run.max_attempts}`,
      "replay of": run.replay_of,
      "retry of": run.retry_of,
      "next attempt": run.retried_by ?? time(run.retry_at),
      replays: replays.length === 0 ? undefined : replays.map(({ run_id }) => run_id).join(", "),
      webhook: run.webhook_id,
      version: run.webhook_version,
      team: run.team,
      mode: run.mode,
      accepted: timeAndAge(run.accepted_at),
      sent: timeAndAge(run.sent_at),
      started: timeAndAge(run.started_at),
      finished: timeAndAge(run.finished_at),
      agent: agentText(run),
      callback: run.callback_url,
      "chained from": run.chained_from,
      "cancelled by": run.cancelled_by && cancellerNames[run.cancelled_by],
      "superseded by": run.superseded_by,
      delivery: run.delivery_failed ? "failed" : undefined,
      duration: elapsed(run.duration_ms),
      error: run.error && `${run.error.code}: ${run.error.message}`,
      "last step": run.last_step,
      "timed out after": run.timeout_seconds === undefined ? undefined : `${run.timeout_seconds} s`,
      asks: run.asks && (run.asks.join(" | ") || "a question"),
      files: run.files?.map(({ id, name }) => `${id} ${name}`).join("\n"),
      links: run.links?.map(({ title, url }) => `${title} ${url}`).join("\n"),
      "denied permissions": run.denied?.join(", "),
      changes: run.workspace && workspaceLine(run.workspace),
      "agent settings": run.agent && requestText(run.agent),
      model: run.usage?.model,
      tokens: tokensText(run.usage),
      cost: run.usage?.cost_usd === undefined ? undefined : `$${run.usage.cost_usd}`,
      session: run.session_lost ? `${run.session_id ?? "a new one"} (the earlier one was lost)` : run.session_id,
      "earlier messages": run.history_given ? "given with the prompt" : undefined
    }),
    ...(Object.keys(run.variables).length === 0 ? [] : [section("Variables", Json.stringify(run.variables, 2))]),
    section("Prompt", run.conversation.prompt),
    ...(run.answer !== undefined
      ? [section("Answer", Json.stringify(run.answer, 2))]
      : run.conversation.response === undefined
        ? []
        : [section("Response", run.conversation.response)])
  ].join("\n")
