import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { useRun } from "../../api/Queries.ts"
import { formatDuration } from "../../format/Format.ts"
import { ElapsedTime } from "../../format/Time.tsx"
import { Answer } from "./Answer.tsx"
import { LiveProgress } from "./LiveProgress.tsx"
import { ReplyToRun } from "./ReplyToRun.tsx"
import { RunNotice } from "./RunNotice.tsx"
import { StatusBadge } from "./Status.tsx"

/** A run that was started here. */
export interface SentRun {
  readonly run_id: string
  /** By this browser's clock, RFC 3339. */
  readonly at: string
}

/** The run's link and elapsed time, then its answer or error. */
export const FollowedRun = ({ sent: { run_id, at } }: { readonly sent: SentRun }) => {
  const { data: run } = useRun(run_id)
  const ended = run && isFinal(run.status)
  return (
    <>
      <div className="row" role="status">
        <StatusBadge run={run ?? { status: "queued" }} />
        <span className="muted small">
          {ended && run.finished_at ? (
            `after ${formatDuration(Date.parse(run.finished_at) - Date.parse(run.accepted_at))}`
          ) : (
            // Announced once, not every second.
            <span aria-live="off">
              <ElapsedTime since={at} />
            </span>
          )}
        </span>
        <Link to={pathTo("run", { run_id })}>Open the run</Link>
      </div>
      {run?.status === "running" && <LiveProgress run_id={run_id} heading="h3" />}
      {run && <RunNotice run={run} again="send it again" />}
      {run?.conversation.response !== undefined && <Answer text={run.conversation.response} run={run} nested />}
      {run && <ReplyToRun run={run} nested />}
    </>
  )
}
