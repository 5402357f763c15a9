import { useEffect, useRef } from "react"
import { plainText } from "../../../domain/run/RunTitle.ts"
import { resultOf, type Step } from "../../../domain/run/Step.ts"
import { TimeAfter } from "../../format/Time.tsx"
import { showDirectionMarks, UserText } from "../UserText.tsx"

/** What the agent did, as a timeline. A live one has a fixed height and scrolls to the newest step. */
export const Steps = ({
  steps,
  live = false,
  failed = false
}: {
  readonly steps: ReadonlyArray<Step>
  readonly live?: boolean
  /** The last step that failed is open, as the run failed with it. */
  readonly failed?: boolean
}) => {
  const opened = failed ? steps.findLastIndex(({ status }) => status === "failed") : -1
  const list = useRef<HTMLOListElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when a step has come
  useEffect(() => {
    if (live && list.current) list.current.scrollTop = list.current.scrollHeight
  }, [live, steps.length])
  return (
    <ol
      ref={list}
      className={live ? "timeline steps growing" : "timeline steps"}
      aria-label="Steps"
      tabIndex={live ? 0 : -1}
    >
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
