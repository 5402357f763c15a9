import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { mostCountedAhead } from "../../../domain/run/Ahead.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { useAhead, useTeams } from "../../api/Queries.ts"
import type { Run, Team } from "../../api/Types.ts"
import { formatNumber, plural } from "../../format/Format.ts"
import { Notice } from "../Notice.tsx"
import { showDirectionMarks } from "../UserText.tsx"
import { warningFor } from "./Status.tsx"

/** Advice for each error; `again` says how to try again, as in `replay the run`. */
const advice: Record<NonNullable<Run["error"]>["code"], (again: string) => string> = {
  agent_error: (again) =>
    `The team's leader reported this error. Check its log for details and fix the cause, then ${again}.`,
  answer_too_large: (again) =>
    `The work is done, but an answer may have 1 MiB. Let the agent store a long result elsewhere and answer with a link, then ${again}.`,
  budget_exceeded: (again) =>
    `The webhook's daily budget was used up before the run could be sent. Raise \`max_cost_per_day\`, then ${again}.`,
  team_not_running: (again) => `No leader was connected within the maximum wait. Connect a leader, then ${again}.`,
  team_gone: (again) => `The team's queue was deleted before the answer arrived. Reconnect a leader, then ${again}.`,
  undeliverable: () =>
    "The broker gave up on the prompt after too many deliveries without an answer, or because the leader rejected it. Check whether the leader crashes on this prompt."
}

/** Why a run failed or is waiting, and what to do about it. */
export const RunNotice = ({ run, again }: { readonly run: Run; readonly again: string }) => {
  const teams = useTeams()
  const team = teams.data?.find((team) => team.team === run.team)
  if (run.error) {
    return (
      <Notice tone="danger">
        <p>
          <strong>{run.error.code}</strong>
        </p>
        <pre className="error-text">{showDirectionMarks(run.error.message.slice(0, 20_000))}</pre>
        <p className="muted small">{advice[run.error.code](again)}</p>
      </Notice>
    )
  }
  const warning = warningFor(run)
  if (warning) {
    return (
      <Notice tone="warning">
        <p>{warning.title}</p>
        <p className="muted small">{warning.advice}</p>
      </Notice>
    )
  }
  if (run.status === "queued" && team?.paused_at !== undefined) {
    return (
      <Notice tone="warning">
        The team <Link to={pathTo("team", run)}>{run.team}</Link> is paused. This run continues when the team is
        resumed.
      </Notice>
    )
  }
  if (!isFinal(run.status) && team?.running === false) {
    return (
      <Notice tone="warning">
        No leader is connected to <Link to={pathTo("team", run)}>{run.team}</Link>. This run continues when one
        connects.
      </Notice>
    )
  }
  return run.status === "queued" && run.sent_at === undefined && run.collecting_until === undefined ? (
    <Waiting run={run} team={team} />
  ) : null
}

/** Why a run of a team with a leader has not been sent yet. */
const Waiting = ({ run, team }: { readonly run: Run; readonly team: Team | undefined }) => {
  const { data } = useAhead(run.run_id)
  if (data === undefined) return null
  const { ahead } = data
  if (ahead > 0) {
    const more = ahead >= mostCountedAhead ? `At least ${formatNumber(ahead)} runs` : plural(ahead, "run")
    return (
      <Notice tone="neutral">
        Waiting in the queue of <Link to={pathTo("team", run)}>{run.team}</Link>: {more} ahead of this one.
      </Notice>
    )
  }
  const isAtWork = team?.at_work?.some(({ released_at }) => released_at === undefined)
  return (
    <Notice tone="neutral">
      Next in the queue. Waiting for {isAtWork ? "the team to finish earlier work" : "a free slot"}.
    </Notice>
  )
}
