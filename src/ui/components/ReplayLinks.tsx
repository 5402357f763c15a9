import { Link } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { useReplays } from "../api/Queries.ts"
import type { Run } from "../api/Types.ts"
import { plural } from "./Format.ts"
import { RunList } from "./RunList.tsx"

/** The run that this one repeats. */
export const ReplayOf = ({ run: { replay_of } }: { readonly run: Run }) =>
  replay_of === undefined ? null : (
    <span>
      Replay of <Link to={pathTo("run", { run_id: replay_of })}>an earlier run</Link>
    </span>
  )

/** The runs that repeat this one; nothing when there are none. */
export const Replays = ({ run: { run_id } }: { readonly run: Run }) => {
  const { data } = useReplays(run_id)
  if (data === undefined || data.data.length === 0) return null
  return (
    <section className="card stack tight" aria-label="Replays">
      <h2>{plural(data.data.length, "replay")}</h2>
      <RunList runs={data.data} label="Replays, newest first" />
    </section>
  )
}
