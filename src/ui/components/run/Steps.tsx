import { plainText } from "../../../domain/run/RunTitle.ts"
import { resultOf, type Step } from "../../../domain/run/Step.ts"
import { TimeAfter } from "../../format/Time.tsx"
import { showDirectionMarks, UserText } from "../UserText.tsx"

/** The agent's steps, as a timeline. */
export const Steps = ({
  steps,
  failed = false
}: {
  readonly steps: ReadonlyArray<Step>
  /** The last step that failed is open, as the run failed with it. */
  readonly failed?: boolean
}) => {
  const opened = failed ? steps.findLastIndex(({ status }) => status === "failed") : -1
  return (
    <ol className="timeline steps" aria-label="Steps">
      {steps.map((step, i) => (
        <li key={i} className={toneOf(step)}>
          <OneStep step={step} earlier={steps[0]!.at} open={i === opened} />
        </li>
      ))}
    </ol>
  )
}

const toneOf = ({ kind, status }: Step): string => {
  if (status === "failed") return "danger"
  if (kind === "retry") return "warning"
  return status === "running" ? "next" : kind === "text" ? "" : "done"
}

const OneStep = ({
  earlier,
  open,
  step
}: {
  readonly earlier: string
  readonly open: boolean
  readonly step: Step
}) => {
  const { at, detail, title, tool } = step
  const name = (
    <>
      {tool !== undefined && !title.startsWith(tool) && <span className="muted">{showDirectionMarks(tool)} </span>}
      <UserText>{plainText(title)}</UserText>
    </>
  )
  return (
    <>
      {detail === undefined ? (
        <span>{name}</span>
      ) : (
        <details open={open}>
          <summary>{name}</summary>
          <pre className="error-text">{showDirectionMarks(detail)}</pre>
        </details>
      )}
      <span className="muted small">
        {resultOf(step)} <TimeAfter at={at} earlier={earlier} />
      </span>
    </>
  )
}
