import { Link } from "wouter"
import { isFinal } from "../api/Queries.ts"
import type { Run } from "../api/Types.ts"
import { Status } from "./Status.tsx"
import { plain } from "./Text.tsx"
import { Ago, duration, Since } from "./Time.tsx"

/** What a run was about, in one line: its values, or the message. */
const gist = (run: Run): string => {
  if (run.source === "chat") return plain(run.conversation.prompt.slice(0, 300))
  const parts = Object.entries(run.variables).map(
    ([name, value]) => `${name}: ${(typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 100)}`
  )
  return plain(parts.join("  ·  ").slice(0, 300)) || "no variables"
}

export const took = (run: Run): React.ReactNode =>
  run.duration_ms !== undefined ? (
    duration(run.duration_ms)
  ) : isFinal(run.status) ? (
    "–"
  ) : (
    <Since at={run.started_at ?? run.accepted_at} />
  )

export const RunList = ({ runs, label }: { readonly runs: ReadonlyArray<Run>; readonly label: string }) => (
  <ul className="runs" aria-label={label}>
    {runs.map((run) => (
      <li key={run.run_id}>
        <Link to={`/runs/${run.run_id}`} className="run">
          <Status of={run.status} />
          <bdi className="run-gist">{gist(run)}</bdi>
          <span className="run-took small muted">{took(run)}</span>
          <span className="run-when small muted">
            <Ago at={run.accepted_at} />
          </span>
        </Link>
      </li>
    ))}
  </ul>
)
