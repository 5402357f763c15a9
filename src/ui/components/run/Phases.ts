/** What a run's time was spent on. Only what happened has a length: a run that was never sent did no work. */
import { isFinal } from "../../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../api/Types.ts"

type Times = Pick<RunSummary, "status" | "accepted_at" | "sent_at" | "started_at" | "finished_at" | "error">

/** Whether the run ended otherwise than by the leader's answer, and its leader had not reported that it started. */
export const neverStarted = ({ status, sent_at, started_at, error }: Times): boolean =>
  // A started time that is the sent time was filled in at the run's end.
  isFinal(status) && status !== "success" && error?.code !== "agent_error" && started_at === sent_at

/** A stretch of time; without an end it goes on. */
export interface Phase {
  readonly from: string
  readonly to?: string
}

const phase = (from: string, to: string | undefined): Phase => ({ from, ...(to !== undefined && { to }) })

/** From the acceptance until the team began, or until the end when it never did. */
export const waited = (run: Times): Phase =>
  phase(run.accepted_at, neverStarted(run) ? run.finished_at : (run.started_at ?? run.finished_at))

/** From the team's beginning until the end. */
export const worked = (run: Times): Phase | undefined =>
  run.started_at === undefined || neverStarted(run) ? undefined : phase(run.started_at, run.finished_at)
