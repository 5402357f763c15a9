import { DateTime, Duration, Schema } from "effect"
import { VariantSchema } from "effect/schema"
import { RunId, ThreadId, WebhookId } from "../Id.ts"
import { AnyObject, Int } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { RunThread } from "../Thread.ts"
import { optional, time } from "../Time.ts"
import { AgentReport, ShownReport } from "./AgentReport.ts"
import { AgentRequest } from "./AgentRequest.ts"
import { valueIn } from "./Answer.ts"
import { cancellers } from "./Canceller.ts"
import { heldFor } from "./Held.ts"
import { RunFile } from "./RunFile.ts"
import { RunSource } from "./RunSource.ts"
import { allStatuses, type FinalStatus, leaderCodes, leaderErrors, limitCodes, runStatuses } from "./RunStatus.ts"

export const RunStatus = Schema.Literals(allStatuses).annotate({
  identifier: "RunStatus",
  description: "`queued`, then `running`, then one of the others, which are final."
})
export type RunStatus = typeof RunStatus.Type

export const RunMode = Schema.Literals(["async", "wait"]).annotate({
  description: "Whether the caller waits for the answer."
})
export type RunMode = typeof RunMode.Type

export const CancelledBy = Schema.Literals(cancellers).annotate({
  identifier: "CancelledBy",
  description:
    "Who cancelled the run or its pending retry: the webhook's caller, a program with the admin key, a session of the web UI, or the program that this server is part of. Or what: a newer run with its key (`superseded`), or a request for which `cancel_if` holds (`event`). `denied`: the person in `decided_by` denied it. `approval_expired`: nobody approved it in time."
})
export type CancelledBy = typeof CancelledBy.Type

const RunErrorCode = Schema.Literals([
  "agent_error",
  "answer_too_large",
  "budget_exceeded",
  ...leaderCodes,
  "team_gone",
  "team_not_running",
  "undeliverable"
]).annotate({
  description:
    "The leader said so (`agent_error`), the daily budget of cost was used up before the sending (`budget_exceeded`), the team's queue went away (`team_gone`), no leader came in time (`team_not_running`), or the broker gave up (`undeliverable`). With `answer_too_large`, the answer had more than 1 MiB, and `response` is its beginning; with `answer_invalid`, it does not match the webhook's `answer_schema`, and `response` is its text. At a limit of the run (`turns_exceeded`, `cost_exceeded`) the agent was stopped, and `response` is what there is of an answer. With `agent_stalled`, it was stopped because it had shown nothing for longer than its leader allows."
})
export const RunError = Schema.Struct({
  code: RunErrorCode,
  message: Schema.String.annotate({ description: "What happened, in the leader's or the server's words." })
}).annotate({ identifier: "RunError", description: "Why the run ended as `error`." })
export type RunError = typeof RunError.Type

export const Variables = AnyObject.annotate({
  identifier: "Variables",
  description: "The values for the template's placeholders, as the caller sent them: any JSON."
})
export type Variables = typeof Variables.Type

/** One definition, two records: `json` is what the API shows, `row` what a `Repo` stores. */
const { FieldOnly, Struct, extract } = VariantSchema.make({ variants: ["json", "row"], defaultVariant: "json" })
const shown = FieldOnly(["json"])
const stored = FieldOnly(["row"])

const record = Struct({
  run_id: RunId,
  source: RunSource,
  webhook_id: optional(WebhookId.annotate({ description: "Absent for a chat message." })),
  webhook_version: optional(
    Int.annotate({
      description:
        "The `version` of the webhook from whose template the prompt was made. Absent: none, as for a message or a reply."
    })
  ),
  team: TeamName,
  mode: RunMode,
  status: RunStatus,
  title: optional(
    Schema.String.annotate({
      description:
        "What it is about, in a line: its webhook's `run_title`, filled in. Absent: none, or a value was missing."
    })
  ),
  agent: optional(AgentRequest),
  thread: shown(optional(RunThread)),
  replay_of: optional(RunId.annotate({ description: "The run that this one repeats on request." })),
  chained_from: optional(
    RunId.annotate({ description: "The run whose end started this one, by a destination of the kind `chain`." })
  ),
  chain_depth: optional(Int.annotate({ description: "The number of runs before it in its chain. Absent: none." })),
  retry_of: shown(optional(RunId.annotate({ description: "The failed run whose next attempt this one is." }))),
  attempt: optional(Int.annotate({ description: "Which attempt it is, from 1 on, of a webhook that has `retries`." })),
  max_attempts: optional(Int.annotate({ description: "How many attempts there are at most." })),
  retry_at: optional(time("Of a failed run that will be tried again: when, at the earliest.")),
  retried_by: optional(RunId.annotate({ description: "Of a failed run: its next attempt." })),
  accepted_at: time("When the run was stored, and 202 could be sent."),
  held_for: optional(
    Schema.Literals(heldFor).annotate({
      description:
        "Why this queued run has no place in its team's lane yet: further triggers can join it (`window`, if its webhook has `coalesce`), its webhook is paused (`webhook_paused`), its time has not come (`time`), or somebody must approve it (`approval`)."
    })
  ),
  held_until: optional(
    time(
      "When that ends: then the run takes its place in the lane, or waits for its approval if it needs one. Without an approval until then, it is cancelled. With `webhook_paused`, absent or the earliest time."
    )
  ),
  joined: optional(
    Int.annotate({
      description: "How many later triggers have joined the run, if its webhook has `coalesce` or `approval`."
    })
  ),
  decided_by: optional(Schema.String.annotate({ description: "Who approved or denied the run." })),
  sent_at: optional(
    time("When the broker confirmed the prompt; of a run that was answered before that, when it was admitted.")
  ),
  started_at: optional(
    time("When the leader reported that it started; of an ended run whose leader reported nothing, when it was sent.")
  ),
  finished_at: optional(time("When the run ended.")),
  stop_at: optional(
    time(
      "Of a run that ended before its leader was done: when the leader is, or was, told to stop. Until `released_at`, its agent may work: it holds its team and its slots, and it can be cancelled."
    )
  ),
  released_at: optional(
    time(
      "Of a `timeout` or `cancelled` run: when it no longer held its team and its slots, because its leader was done with it, did not confirm the stop in time (`unconfirmed`), or never got it."
    )
  ),
  unconfirmed: optional(
    Schema.Boolean.annotate({
      description:
        "True: it was released although its leader had not confirmed that its agent has stopped. The agent may still work."
    })
  ),
  rests: optional(
    Int.annotate({
      description:
        "How often it went back to the head of its team's queue, because its agent had reached a usage limit. Absent: never."
    })
  ),
  triggered_by: optional(
    Schema.String.annotate({
      description:
        "For a run that an MCP tool started: the ID of the API key that called the tool, or `admin_key`. For a reply by a button in Slack: `slack:` and the member's ID."
    })
  ),
  asked_by: optional(
    Schema.String.annotate({
      description:
        "Who asked for the run, besides `triggered_by`: the IDs of members of Slack (`slack:U0456`) and of keys, one in a line. They cannot approve it, unless the webhook's `approvers` has `self`. Absent: unknown."
    })
  ),
  callback_url: optional(
    Schema.String.annotate({ description: "Where its caller wanted the end to be sent (`callback_url`)." })
  ),
  cancelled_by: optional(CancelledBy),
  superseded_by: optional(
    RunId.annotate({ description: "Of a run that a newer one replaced, if its webhook has `singleton`: that one." })
  ),
  delivery_failed: optional(
    Schema.Boolean.annotate({
      description: "Of an ended run: true while a delivery to one of the webhook's destinations has finally failed."
    })
  ),
  duration_ms: shown(
    optional(Schema.Finite.annotate({ description: "Milliseconds from `started_at` to `finished_at`." }))
  ),
  variables: Variables,
  files: optional(
    Schema.Array(RunFile).annotate({
      description:
        "The files that came with the request or that it named (`in-…`), and those that the agent left (`out-…`)."
    })
  ),
  conversation: shown(
    Schema.Struct({
      prompt: Schema.String.annotate({ description: "The rendered prompt, as the leader got it." }),
      response: optional(
        Schema.String.annotate({
          description: "The agent's answer; of a `timeout` or `cancelled` run, one that came late."
        })
      )
    }).annotate({ description: "What was asked and answered." })
  ),
  answer: shown(ShownReport.fields.answer),
  error: shown(optional(RunError)),
  last_step: shown(
    optional(
      Schema.String.annotate({
        description: "Of a `timeout` run: what its agent had reported last, such as `Retrying: 429 (4 of 10)`."
      })
    )
  ),
  timeout_seconds: shown(
    optional(Schema.Finite.annotate({ description: "Of a `timeout` run: how long it was given." }))
  ),
  usage: shown(AgentReport.fields.usage),
  session_id: shown(AgentReport.fields.session_id),
  session_lost: shown(AgentReport.fields.session_lost),
  history_given: shown(AgentReport.fields.history_given),
  session_usage: shown(AgentReport.fields.session_usage),
  links: shown(AgentReport.fields.links),
  denied: shown(AgentReport.fields.denied),
  workspace: shown(AgentReport.fields.workspace),
  asks: shown(AgentReport.fields.asks),

  prompt: stored(Schema.String),
  response: stored(optional(Schema.String)),
  error_code: stored(optional(RunErrorCode)),
  error_message: stored(optional(Schema.String)),
  report: stored(optional(AgentReport)),
  timeout_ms: stored(Schema.Finite),
  thread_id: stored(optional(ThreadId)),
  thread_key: stored(optional(Schema.String)),
  /** True: somebody must still approve it. */
  needs_approval: stored(optional(Schema.Boolean)),
  /** The delay of a retry after an `error`; absent: no retry. */
  retry_after_seconds: stored(optional(Schema.Finite)),
  /** How long its agent may work after the caller stopped waiting; absent: its timeout stops the agent. */
  max_work_ms: stored(optional(Schema.Finite)),
  /**
   * In wait mode, known from the start; for an asynchronous run, once it was sent. Before that, it limits the wait for
   * a leader of a run that is only sent to a leader; such a run ends as `noLeaderInTime`.
   */
  deadline_at: stored(optional(time("When it times out."))),
  admitted_at: stored(optional(time("When it got its slots, just before it was published."))),
  traceparent: stored(optional(Schema.String.annotate({ description: "Its trace, as in W3C trace context." })))
})

/** A run as the history shows it. */
export const Run = extract(record, "json").annotate({
  identifier: "Run",
  description: "One execution, as the history shows it."
})
export type Run = typeof Run.Type

/** A run as stored. */
export const RunRow = extract(record, "row")
export type RunRow = typeof RunRow.Type

/** Known once a run has started and ended. */
export const durationOf = ({
  started_at,
  finished_at
}: Pick<RunRow, "started_at" | "finished_at">): Pick<Run, "duration_ms"> =>
  started_at && finished_at
    ? { duration_ms: Math.max(0, Duration.toMillis(DateTime.distance(started_at, finished_at))) }
    : {}

/** A row's `replay_of` is either, as `attempt` says. */
export const earlierRunOf = ({ attempt = 1, replay_of }: Pick<RunRow, "attempt" | "replay_of">) =>
  replay_of === undefined ? {} : attempt > 1 ? { retry_of: replay_of } : { replay_of }

/** Such an answer was checked before the run ended. */
const answerOf = ({ agent, report, response, status }: RunRow): Pick<Run, "answer"> => {
  const isChecked = status === "success" && agent?.answer_schema !== undefined && report?.asks === undefined
  return isChecked && response !== undefined ? { answer: valueIn(response) } : {}
}

export const toRun = (row: RunRow): Run => {
  const { prompt, response, error_code, error_message, report, timeout_ms, deadline_at, admitted_at, ...rest } = row
  const { max_work_ms, needs_approval, replay_of, retry_after_seconds, thread_id, thread_key, traceparent, ...shared } =
    rest
  return {
    ...shared,
    ...earlierRunOf(row),
    ...(thread_id && thread_key !== undefined && { thread: { id: thread_id, key: thread_key } }),
    ...durationOf(row),
    conversation: { prompt, ...(response !== undefined && { response }) },
    ...answerOf(row),
    ...(error_code && { error: { code: error_code, message: error_message ?? "" } }),
    ...(row.status === "timeout" && { timeout_seconds: timeout_ms / 1_000 }),
    ...(row.status === "timeout" && error_message !== undefined && { last_step: error_message }),
    ...report
  }
}

/** Whether a queued run is only sent while its team has a leader. */
export const waitsForLeader = ({ deadline_at, mode }: Pick<RunRow, "deadline_at" | "mode">): boolean =>
  mode === "async" && deadline_at !== undefined

/** How long a run waits for a leader if its webhook does not say, in seconds. */
export const leaderWait = 24 * 3_600

/** The end of a run that no leader took in time. */
export const noLeaderInTime: RunError = {
  code: "team_not_running",
  message: "The team had no leader for as long as the run could wait for one."
}

/** Errors after which a run is not retried: it has waited as long as it may, costs too much, or its work is done. */
export const finalErrors: ReadonlyArray<RunError["code"]> = [
  noLeaderInTime.code,
  "budget_exceeded",
  "answer_too_large",
  "answer_invalid",
  ...limitCodes
]

/** The details of an end. A final status without a line here does not compile. */
interface OutcomeDetails {
  readonly success: { readonly response: string; readonly report?: AgentReport }
  /** `response`: the beginning of an answer that is too large, one that is invalid, or what there is of one at a limit. */
  readonly error: { readonly error: RunError; readonly response?: string; readonly report?: AgentReport }
  /** `undelivered`: no leader has its prompt. */
  readonly timeout: { readonly undelivered?: boolean }
  readonly cancelled: { readonly cancelled_by: CancelledBy }
}

/** How a run ends. */
export type Outcome = { [S in FinalStatus]: { readonly status: S } & OutcomeDetails[S] }[FinalStatus]

/** The report as a field; none, if there is none. */
export const reportOf = ({ report }: { readonly report?: AgentReport }) => (report === undefined ? {} : { report })

/** The fields that an end sets in a run's row, besides its times. */
export const outcomeFields = (
  outcome: Outcome
): Pick<RunRow, "status" | "response" | "error_code" | "error_message" | "report" | "cancelled_by"> => {
  const { status } = outcome
  switch (status) {
    case "success":
      return { status, response: outcome.response, ...reportOf(outcome) }
    case "error":
      return {
        status,
        error_code: outcome.error.code,
        error_message: outcome.error.message,
        ...(outcome.response !== undefined && { response: outcome.response }),
        ...reportOf(outcome)
      }
    case "timeout":
      return { status }
    case "cancelled":
      return { status, cancelled_by: outcome.cancelled_by }
  }
}

/**
 * The last step of a run that timed out, as callers, and readers of messages about it, may see it. Other steps may be commands,
 * such as `Bash: env`.
 */
export const stepForOthers = (last_step: string | undefined): string | undefined =>
  last_step?.startsWith("Retrying: ") ? last_step : undefined

/** Whether no agent works on a run that ends like this. Otherwise it holds its team and its slots until its leader is done. */
export const endsWork = (outcome: Outcome): boolean =>
  outcome.status === "timeout" ? outcome.undelivered === true : outcome.status !== "cancelled"

/** Whether the outcome is the leader's own. Then it got the prompt, recorded or not. */
export const isAnswer = (outcome: Outcome): boolean =>
  outcome.status === "error" ? leaderErrors.includes(outcome.error.code) : runStatuses[outcome.status].answered
