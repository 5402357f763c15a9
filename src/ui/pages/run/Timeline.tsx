import { isFinal } from "../../../domain/run/RunStatus.ts"
import type { Run } from "../../api/Types.ts"
import { neverStarted } from "../../components/run/Phases.ts"
import { statusDisplays } from "../../components/run/Status.tsx"
import { formatDuration } from "../../format/Format.ts"
import { ElapsedTime, ExactTime } from "../../format/Time.tsx"

interface Step {
  readonly text: string
  readonly at: string | undefined
  /** The phase until the next step, as in `3 s in the queue`; absent for the last step. */
  readonly spentOn?: string
}

/** When the run was accepted, sent, started and finished, and the time between. */
export const Timeline = ({ run }: { readonly run: Run }) => {
  const final = isFinal(run.status)
  const { label, tone } = statusDisplays[run.status]
  const unstarted = neverStarted(run)
  const steps: ReadonlyArray<Step> = [
    { text: "Accepted", at: run.accepted_at, spentOn: "in the queue" },
    { text: "Sent to the team", at: run.sent_at, spentOn: unstarted ? "with the team" : "waiting for the team" },
    { text: "Started", at: unstarted ? undefined : run.started_at, spentOn: "working" },
    { text: final ? `Finished: ${label.toLowerCase()}` : "Finished", at: run.finished_at }
  ].filter((step) => step.at !== undefined || !final)
  const next = steps.findIndex((step) => step.at === undefined)
  return (
    <ol className="timeline" aria-label="Timeline">
      {steps.map((step, i) => {
        const before = steps[i - 1]
        const last = step.spentOn === undefined
        return (
          <li key={step.text} className={step.at ? (last ? `done ${tone}` : "done") : i === next ? "next" : ""}>
            <strong>{step.text}</strong>
            <span className="muted small">{step.at ? <ExactTime at={step.at} /> : "not yet"}</span>
            {before?.at !== undefined && (step.at !== undefined || i === next) && (
              <span className="small">
                {step.at ? (
                  formatDuration(Date.parse(step.at) - Date.parse(before.at))
                ) : (
                  <ElapsedTime since={before.at} />
                )}{" "}
                {before.spentOn}
              </span>
            )}
          </li>
        )
      })}
    </ol>
  )
}
