import { Link } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { useReplays } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { RunList } from "../../components/run/RunList.tsx"
import { plural } from "../../format/Format.ts"
import { ExactTime } from "../../format/Time.tsx"

/** The original of a replay, or the attempts before and after a run. */
export const ReplayOf = ({
  run: { attempt, max_attempts, replay_of, retried_by, retry_at, retry_of }
}: {
  readonly run: Run
}) => (
  <>
    {replay_of !== undefined && (
      <span>
        Replay of <Link to={pathTo("run", { run_id: replay_of })}>an earlier run</Link>
      </span>
    )}
    {max_attempts !== undefined && (
      <span>
        Attempt {attempt} of {max_attempts}
        {retry_of !== undefined && (
          <>
            , after <Link to={pathTo("run", { run_id: retry_of })}>one that failed</Link>
          </>
        )}
        {retried_by !== undefined && (
          <>
            , followed by <Link to={pathTo("run", { run_id: retried_by })}>the next one</Link>
          </>
        )}
        {retry_at !== undefined && (
          <>
            ; next attempt: <ExactTime at={retry_at} />
          </>
        )}
      </span>
    )}
  </>
)

/** The run's replays, without its next attempt. */
export const Replays = ({ run: { retried_by, run_id } }: { readonly run: Run }) => {
  const { data } = useReplays(run_id)
  const replays = data?.data.filter((run) => run.run_id !== retried_by) ?? []
  if (replays.length === 0) return null
  return (
    <section className="card stack tight" aria-label="Replays">
      <h2>{plural(replays.length, "replay")}</h2>
      <RunList runs={replays} label="Replays, newest first" />
    </section>
  )
}
