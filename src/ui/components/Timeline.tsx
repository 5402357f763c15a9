import { isFinal } from "../../domain/RunStatus.ts"
import type { Run } from "../api/Types.ts"
import { formatDuration } from "./Format.ts"
import { statusDisplays } from "./Status.tsx"
import { ElapsedTime, ExactTime } from "./Time.tsx"

interface Step {
  readonly text: string
  readonly at: string | undefined
  /** What the time since the step before was spent on, as in `3 s in the queue`. */
  readonly gap: string
  /** The step that ended the run. */
  readonly last?: boolean
}

/** Accepted, sent, started, finished: when each happened, and how long it took. */
export const Timeline = ({ run }: { readonly run: Run }) => {
  const final = isFinal(run.status)
  const { label, tone } = statusDisplays[run.status]
  const steps: ReadonlyArray<Step> = [
    { text: "Accepted", at: run.accepted_at, gap: "" },
    { text: "Sent to the team", at: run.sent_at, gap: "in the queue" },
    { text: "Started", at: run.started_at, gap: "waiting for the team" },
    { text: final ? `Finished: ${label.toLowerCase()}` : "Finished", at: run.finished_at, gap: "running", last: true }
  ].filter((step) => step.at !== undefined || !final)
  const next = steps.findIndex((step) => step.at === undefined)
  return (
    <ol className="timeline" aria-label="Timeline">
      {steps.map((step, i) => {
        const before = steps[i - 1]?.at
        return (
          <li key={step.text} className={step.at ? (step.last ? `done ${tone}` : "done") : i === next ? "next" : ""}>
            <strong>{step.text}</strong>
            <span className="muted small">{step.at ? <ExactTime at={step.at} /> : "not yet"}</span>
            {before !== undefined && (step.at !== undefined || i === next) && (
              <span className="small">
                {step.at ? formatDuration(Date.parse(step.at) - Date.parse(before)) : <ElapsedTime since={before} />}{" "}
                {step.gap}
              </span>
            )}
          </li>
        )
      })}
    </ol>
  )
}
