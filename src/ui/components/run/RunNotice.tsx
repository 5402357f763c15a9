import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { useTeams } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { Notice } from "../Notice.tsx"
import { showDirectionMarks } from "../UserText.tsx"
import { warningFor } from "./Status.tsx"

/** What to do about each error; `again` says how to try once more, as in `repeat the run below`. */
const advice: Record<NonNullable<Run["error"]>["code"], (again: string) => string> = {
  agent_error: (again) =>
    `The team's leader reported this error. Check its log for details and fix the cause, then ${again}.`,
  team_not_running: (again) =>
    `No leader of the team was connected for as long as the run could wait for one. Connect a leader, then ${again}.`,
  team_gone: (again) => `The team's queue was deleted before the answer came. Connect a leader again, then ${again}.`,
  undeliverable: () =>
    "The broker gave up on the prompt: it was delivered too often without an answer, or was rejected. Check whether the leader crashes on this prompt."
}

/** Why a run failed or makes no progress, and what to do about it. */
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
        The team <Link to={pathTo("team", run)}>{run.team}</Link> is paused, so this run is on hold. It continues when
        the team is resumed.
      </Notice>
    )
  }
  if (!isFinal(run.status) && team?.running === false) {
    return (
      <Notice tone="warning">
        No leader of <Link to={pathTo("team", run)}>{run.team}</Link> is connected, so this run is on hold. It continues
        when one connects.
      </Notice>
    )
  }
  return null
}
