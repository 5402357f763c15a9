import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { mayStartEarly } from "../../../domain/run/Held.ts"
import { api } from "../../api/Client.ts"
import { queries, useRun, useTeams } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { ExactTime } from "../../format/Time.tsx"
import { Button } from "../Button.tsx"
import { useKeyedAction } from "../form/KeyedAction.ts"
import { ErrorNotice, Notice } from "../Notice.tsx"
import { showDirectionMarks } from "../UserText.tsx"
import { withCode } from "../WithCode.tsx"
import { warningFor } from "./RunWarning.ts"

type ErrorCode = NonNullable<Run["error"]>["code"]

/** The errors as sentences. */
const headings: Record<ErrorCode, string> = {
  agent_error: "The agent could not finish.",
  agent_stalled: "The agent showed nothing for too long.",
  answer_invalid: "The answer does not match its schema.",
  answer_too_large: "The answer is too large.",
  budget_exceeded: "The webhook's daily budget is used up.",
  turns_exceeded: "The agent reached its turn limit.",
  cost_exceeded: "The agent reached its cost limit.",
  team_not_running: "No leader came in time.",
  team_gone: "The team's queue is gone.",
  undeliverable: "The prompt could not be delivered."
}

/** Advice for each error; `again` says how to try again, as in `replay the run`. */
const advice: Record<ErrorCode, (again: string) => string> = {
  agent_error: (again) =>
    `The team's leader reported this error. Check its log for details and fix the cause, then ${again}.`,
  agent_stalled: (again) =>
    `The agent showed nothing for longer than the leader's stall timeout, and was stopped. If the prompt needs more time without output, raise the timeout, then ${again}.`,
  answer_invalid: (again) =>
    `The work is done, but the answer does not match the webhook's \`answer_schema\`. Describe the expected answer in the prompt, or correct the schema, then ${again}.`,
  answer_too_large: (again) =>
    `The work is done, but an answer may have 1 MiB. Let the agent store a long result elsewhere and answer with a link, then ${again}.`,
  budget_exceeded: (again) =>
    `The webhook's daily budget was used up before the run could be sent. Raise \`max_cost_per_day\`, then ${again}.`,
  turns_exceeded: (again) =>
    `The agent was stopped at the webhook's turn limit. Raise \`max_turns\`, or give the agent a smaller task, then ${again}.`,
  cost_exceeded: (again) =>
    `The agent was stopped at the webhook's cost limit per run. Raise \`max_cost\`, or give the agent a smaller task, then ${again}.`,
  team_not_running: (again) => `No leader was connected within the maximum wait. Connect a leader, then ${again}.`,
  team_gone: (again) => `The team's queue was deleted before the answer arrived. Reconnect a leader, then ${again}.`,
  undeliverable: () =>
    "The broker gave up on the prompt after too many deliveries without an answer, or because the leader rejected it. Check whether the leader crashes on this prompt."
}

/** Why a run failed or is waiting, and what to do about it. */
export const RunNotice = ({ run, again }: { readonly run: Run; readonly again: string }) => {
  if (run.error) {
    return (
      <Notice tone="danger">
        <p>
          <strong>{headings[run.error.code]}</strong> <code className="muted small">{run.error.code}</code>
        </p>
        <pre className="error-text">{showDirectionMarks(run.error.message.slice(0, 20_000))}</pre>
        <p className="muted small">{withCode(advice[run.error.code](again))}</p>
      </Notice>
    )
  }
  const warning = warningFor(run)
  if (warning) {
    return (
      <Notice tone="warning">
        <p>
          <strong>{showDirectionMarks(warning.title)}</strong>
        </p>
        <p className="muted small">{warning.advice}</p>
      </Notice>
    )
  }
  return run.status === "queued" ? <Waiting run={run} /> : run.status === "running" ? <Unled run={run} /> : null
}

const needsAttention: ReadonlyArray<string> = ["webhook_paused", "team_paused", "usage_limit", "leader"]

/** The start of the sentence about the time until which it waits. */
const ends: { readonly [code: string]: string } = {
  usage_limit: "The team rests until",
  window: "The window closes at",
  time: "It starts at",
  webhook_paused: "It starts no earlier than"
}

/** Why a queued run has not been sent. The run may be of a list, which does not say. */
const Waiting = ({ run }: { readonly run: Run }) => {
  const { run_id } = run
  const waits = useRun(run_id).data?.waits_for
  return waits === undefined || waits.code === "approval" ? null : (
    <Notice tone={needsAttention.includes(waits.code) ? "warning" : "neutral"}>
      {withCode(waits.message)}
      {waits.until !== undefined && (
        <>
          {" "}
          {ends[waits.code] ?? "Until"} <ExactTime at={waits.until} />.
        </>
      )}
      {mayStartEarly(run) && <StartEarly run_id={run_id} />}
    </Notice>
  )
}

/** A run that is held until then. */
const StartEarly = ({ run_id }: { readonly run_id: string }) => {
  const { error, pending, perform } = useKeyedAction()
  const start = async () => {
    const run = await perform(() => api.runs.start({ path: { run_id } }))
    if (run !== undefined) void queries.invalidateQueries({ queryKey: ["run", run_id] })
  }
  return (
    <div className="row">
      <Button needs="runs.start" compact pending={pending} onPress={() => void start()}>
        Start now
      </Button>
      {error !== undefined && <ErrorNotice error={error} />}
    </div>
  )
}

/** A run that was sent to a team whose leader is gone. */
const Unled = ({ run }: { readonly run: Run }) => {
  const team = useTeams().data?.find((team) => team.team === run.team)
  return team?.running === false ? (
    <Notice tone="warning">
      No leader is connected to <Link to={pathTo("team", run)}>{run.team}</Link>. This run continues when one connects.
    </Notice>
  ) : null
}
