/** The waiting and working phases of a run. */
import { isFinal, leaderErrors } from "../../../domain/run/RunStatus.ts"
import type { RunSummary } from "../../api/Types.ts"

type Times = Pick<RunSummary, "status" | "accepted_at" | "sent_at" | "started_at" | "finished_at" | "error">

/** Whether the run ended without an answer before its leader reported a start. */
export const neverStarted = ({ status, sent_at, started_at, error }: Times): boolean =>
  // The start equals the time of sending if it was filled in at the run's end.
  isFinal(status) && status !== "success" && !leaderErrors.includes(error?.code ?? "") && started_at === sent_at

/** A period; without `to` it has not ended. */
export interface Phase {
  readonly from: string
  readonly to?: string
}

const phase = (from: string, to: string | undefined): Phase => ({ from, ...(to !== undefined && { to }) })

/** From acceptance until the team started, or until the end if it never did. */
export const waited = (run: Times): Phase =>
  phase(run.accepted_at, neverStarted(run) ? run.finished_at : (run.started_at ?? run.finished_at))

/** From the team's start until the end. */
export const worked = (run: Times): Phase | undefined =>
  run.started_at === undefined || neverStarted(run) ? undefined : phase(run.started_at, run.finished_at)
