import { isFinal } from "../api/Queries.ts"
import type { Run } from "../api/Types.ts"
import { statusText } from "./Status.tsx"
import { duration, Exact, Since } from "./Time.tsx"

interface Step {
  readonly text: string
  readonly at: string | undefined
  /** What the time from the step before was spent on. */
  readonly gap: string
}

/** Accepted, sent, started, finished: when, and how long in between. */
export const Timeline = ({ run }: { readonly run: Run }) => {
  const final = isFinal(run.status)
  const steps: ReadonlyArray<Step> = [
    { text: "Accepted", at: run.accepted_at, gap: "" },
    { text: "Sent to the team", at: run.sent_at, gap: "waited for its turn" },
    { text: "Started", at: run.started_at, gap: "waited for the team" },
    {
      text: final ? `Finished: ${statusText(run.status).toLowerCase()}` : "Finished",
      at: run.finished_at,
      gap: "worked"
    }
  ].filter((step) => step.at !== undefined || !final)
  const waiting = steps.findIndex((step) => step.at === undefined)
  return (
    <ol className="timeline" aria-label="Timeline">
      {steps.map((step, i) => {
        const before = steps[i - 1]?.at
        return (
          <li
            key={step.text}
            className={
              step.at ? (step.text.startsWith("Finished") ? `done ${run.status}` : "done") : i === waiting ? "next" : ""
            }
          >
            <strong>{step.text}</strong>
            {step.at ? (
              <span className="muted small">
                <Exact at={step.at} />
              </span>
            ) : (
              <span className="muted small">not yet</span>
            )}
            {before !== undefined && (step.at !== undefined || i === waiting) && (
              <span className="small">
                {step.at ? duration(Date.parse(step.at) - Date.parse(before)) : <Since at={before} />} {step.gap}
              </span>
            )}
          </li>
        )
      })}
    </ol>
  )
}
