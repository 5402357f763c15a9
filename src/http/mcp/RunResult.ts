/** Runs as results of tool calls, and as tasks (`io.modelcontextprotocol/tasks`). */
import type { CallToolResult } from "@modelcontextprotocol/server"
import { DateTime, Predicate } from "effect"
import * as Json from "../../domain/Json.ts"
import { holds } from "../../domain/run/Held.ts"
import type { Run } from "../../domain/run/Run.ts"
import { isFinal } from "../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../domain/run/RunSummary.ts"
import * as Problems from "../request/Problems.ts"

/** The extension of the specification under which runs are tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks"

export const textResult = (text: string): CallToolResult => ({ content: [{ type: "text", text }] })

/** The call failed, in words for the assistant, which may call again in another way. */
const failure = (text: string): CallToolResult => ({ ...textResult(text), isError: true })

/** Why a call started no run or could not be answered. */
export const ofRefusal = (refusal: Problems.Refusal): CallToolResult => {
  const { detail, errors = [], title } = Problems.of(refusal)
  return failure([`${title}. ${detail}`, ...errors.map(({ detail, pointer }) => `${pointer}: ${detail}`)].join("\n"))
}

const linesOf = (run: Run): ReadonlyArray<string> => [
  ...(run.links ?? []).map(({ title, url }) => `${title}: ${url}`),
  ...(run.asks === undefined
    ? []
    : [
        `The agent asks a question. Answer it with \`reply_to_run\` and the run_id ${run.run_id}.`,
        ...run.asks.map((reply) => `Suggested reply: ${reply}`)
      ])
]

/** How the run ended. The run's ID is in `_meta`, where it does not disturb the answer. */
export const ofEnded = (run: Run): CallToolResult => {
  const { answer, conversation, error, retry_at, run_id, status } = run
  const _meta = { "webhook-trigger/run_id": run_id }
  switch (status) {
    case "success":
      return {
        ...textResult([conversation.response ?? "", ...linesOf(run)].join("\n")),
        // Tools have no `outputSchema`: clients would refuse questions, and runs that go on after the call.
        ...(Predicate.isReadonlyObject(answer) && {
          structuredContent: Json.withPlainNumbers(answer) as Readonly<Record<string, unknown>>
        }),
        _meta
      }
    case "error":
      return {
        ...failure(
          `The agent failed: ${error?.message ?? ""}` +
            (retry_at === undefined
              ? ""
              : `\nIt is tried again at ${DateTime.formatIso(retry_at)}; then call \`get_run\`.`)
        ),
        _meta
      }
    case "timeout":
      return { ...failure("The agent did not answer in time."), _meta }
    default:
      return { ...failure("The run was cancelled."), _meta }
  }
}

/** The run goes on after the call. */
export const ofUnfinished = (run: Pick<Run, "held_for" | "run_id" | "status">): CallToolResult => ({
  ...textResult(
    run.held_for !== undefined
      ? `${holds[run.held_for].message} Afterwards, call \`get_run\` with the run_id ${run.run_id} for the answer.`
      : `The run is ${run.status === "queued" ? "waiting for its turn" : "still in progress"}. ` +
          `Call \`get_run\` with the run_id ${run.run_id}: it waits up to 50 seconds for the answer.`
  ),
  _meta: { "webhook-trigger/run_id": run.run_id }
})

/** Characters of an answer in a list. */
const shownLength = 200

export const listed = (runs: ReadonlyArray<RunSummary>): CallToolResult =>
  textResult(
    runs.length === 0
      ? "No runs were started with this key."
      : runs
          .map(({ accepted_at, conversation, run_id, status, team }) =>
            JSON.stringify({
              ...{ run_id, status, team, started: DateTime.formatIso(accepted_at) },
              answer: conversation.response?.slice(0, shownLength)
            })
          )
          .join("\n")
  )

/** Clients should not ask more often, in milliseconds. */
const pollInterval = 2_000

/** The name of the reply among a client's responses. */
export const replyName = "reply"

/** The question of a run's agent, for the client to put to its user. */
export const questionOf = ({ asks = [], conversation }: Run) => ({
  mode: "form" as const,
  message: [conversation.response ?? "", ...asks.map((reply) => `- ${reply}`)].join("\n"),
  requestedSchema: {
    type: "object" as const,
    properties: { [replyName]: { type: "string" as const, title: "Reply" } },
    required: [replyName]
  }
})

const stateOf = (run: Run, canAsk: boolean) => {
  // An ended task must not change, and a failed run that is tried again has not ended for its client.
  if (!isFinal(run.status) || run.retry_at !== undefined) return { status: "working" }
  if (run.status === "cancelled") return { status: "cancelled" }
  if (run.asks !== undefined && canAsk) {
    const question = { method: "elicitation/create", params: questionOf(run) }
    return { status: "input_required", inputRequests: { [replyName]: question } }
  }
  return { status: "completed", result: { resultType: "complete", ...ofEnded(run) } }
}

/**
 * The state of the task that has the ID of the run `first`. Its conversation has come to the run `latest`. `canAsk`: the
 * client can put questions to its user.
 */
export const ofTask = (first: Run, latest: Run, canAsk: boolean) => ({
  ...stateOf(latest, canAsk),
  taskId: first.run_id,
  createdAt: DateTime.formatIso(first.accepted_at),
  lastUpdatedAt: DateTime.formatIso(latest.finished_at ?? latest.started_at ?? latest.accepted_at),
  // As long as the history keeps the run.
  ttlMs: null,
  pollIntervalMs: pollInterval
})

/** A task that just began. It is at work even if its run has ended by now: no client takes a question for one. */
export const ofNewTask = (run: Run) => ({ ...ofTask(run, { ...run, status: "queued" }, false), resultType: "task" })
