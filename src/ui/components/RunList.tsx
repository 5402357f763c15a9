import { Link } from "wouter"
import { pathTo } from "../../api/Pages.ts"
import { isFinal } from "../../domain/RunStatus.ts"
import type { RunSummary } from "../api/Types.ts"
import { formatDuration } from "./Format.ts"
import { StatusBadge } from "./Status.tsx"
import { ElapsedTime, RelativeTime } from "./Time.tsx"
import { showDirectionMarks } from "./UserText.tsx"

const formatValue = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** What a run was about, in one line: its variables, or the chat message. */
const summarize = (run: RunSummary): string => {
  if (run.source === "chat") return showDirectionMarks(run.conversation.prompt.slice(0, 300))
  const parts = Object.entries(run.variables).map(([name, value]) => `${name}: ${formatValue(value).slice(0, 100)}`)
  return showDirectionMarks(parts.join("  ·  ").slice(0, 300)) || "no variables"
}

const RunDuration = ({ run }: { readonly run: RunSummary }) => {
  if (run.duration_ms !== undefined) return formatDuration(run.duration_ms)
  return isFinal(run.status) ? "–" : <ElapsedTime since={run.started_at ?? run.accepted_at} />
}

export const RunList = ({ runs, label }: { readonly runs: ReadonlyArray<RunSummary>; readonly label: string }) => (
  <ul className="runs" aria-label={label}>
    {runs.map((run) => (
      <li key={run.run_id}>
        <Link to={pathTo("run", run)} className="run">
          <StatusBadge run={run} />
          <bdi className="run-summary">{summarize(run)}</bdi>
          <span className="run-time small muted">
            <RunDuration run={run} />
          </span>
          <span className="run-time small muted">
            <RelativeTime at={run.accepted_at} />
          </span>
        </Link>
      </li>
    ))}
  </ul>
)
