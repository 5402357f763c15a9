import { isFinal } from "../../../domain/run/RunStatus.ts"
import { useRun } from "../../api/Queries.ts"
import type { Run } from "../../api/Types.ts"
import { neverStarted, type Phase, waited, worked } from "../../components/run/Phases.ts"
import { statusDisplays } from "../../components/run/Status.tsx"
import { waitOf } from "../../components/run/Waits.ts"
import { formatDuration } from "../../format/Format.ts"
import { ElapsedTime, ExactTime, TimeAfter } from "../../format/Time.tsx"

interface Step {
  readonly text: string
  readonly at: string | undefined
  /** The phase until the next step, as in `3 s waiting to be sent`; absent for the last step. */
  readonly spentOn?: string
}

/** How long the run waited and worked, then when it was accepted, sent, started and finished. The date is said once. */
export const Timeline = ({ run }: { readonly run: Run }) => {
  const final = isFinal(run.status)
  const { label, tone } = statusDisplays[run.status]
  const unstarted = neverStarted(run)
  // The run may be of a list, which does not say.
  const waits_for = useRun(run.run_id).data?.waits_for
  const steps: ReadonlyArray<Step> = [
    { text: "Accepted", at: run.accepted_at, spentOn: `waiting ${waitOf({ ...run, waits_for }) ?? "to be sent"}` },
    { text: "Sent to the team", at: run.sent_at, spentOn: unstarted ? "with the team" : "waiting for the team" },
    { text: "Started", at: unstarted ? undefined : run.started_at, spentOn: "working" },
    { text: final ? `Finished: ${label.toLowerCase()}` : "Finished", at: run.finished_at }
  ].filter((step) => step.at !== undefined || !final)
  const next = steps.findIndex((step) => step.at === undefined)
  return (
    <section className="stack tight" aria-label="Progress">
      <Phases run={run} />
      <ol className="timeline" aria-label="Timeline">
        {steps.map((step, i) => {
          const before = steps[i - 1]
          const last = step.spentOn === undefined
          return (
            <li key={step.text} className={step.at ? (last ? `done ${tone}` : "done") : i === next ? "next" : ""}>
              <strong>{step.text}</strong>
              <span className="muted small">
                {step.at === undefined ? (
                  "not yet"
                ) : i === 0 ? (
                  <ExactTime at={step.at} />
                ) : (
                  <TimeAfter at={step.at} earlier={run.accepted_at} />
                )}
              </span>
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
    </section>
  )
}

/** In per cent; as much as can be seen. */
const least = 2

/** Waiting and working as one bar. */
const Phases = ({ run }: { readonly run: Run }) => {
  const [wait, work] = [waited(run), worked(run)]
  const [waitMs, workMs] = [lengthOf(wait), work === undefined ? 0 : lengthOf(work)]
  const share = work === undefined ? 100 : (100 * waitMs) / Math.max(1, waitMs + workMs)
  const width = work === undefined ? 100 : Math.min(100 - least, Math.max(least, share))
  return (
    <div className="phases">
      <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        <rect className="waited" width={width} height="1" />
        <rect className="worked" x={width} width={100 - width} height="1" />
      </svg>
      <p className="row between small">
        <Length className="waited" name="Waited" of={wait} />
        {work && <Length className="worked" name="Worked" of={work} />}
      </p>
    </div>
  )
}

const lengthOf = ({ from, to }: Phase): number => Math.max(0, (to ? Date.parse(to) : Date.now()) - Date.parse(from))

const Length = ({ className, name, of }: { readonly className: string; readonly name: string; readonly of: Phase }) => (
  <span className={className}>
    {name} {of.to === undefined ? <ElapsedTime since={of.from} /> : formatDuration(lengthOf(of))}
  </span>
)
