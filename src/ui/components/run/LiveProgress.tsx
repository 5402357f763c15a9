import { useEffect, useRef, useState } from "react"
import type { RunProgress } from "../../../api/run/RunEvents.ts"
import { plainText } from "../../../domain/run/RunTitle.ts"
import { mergeSteps, type Step, type StepReport, toSteps } from "../../../domain/run/Step.ts"
import { ElapsedTime } from "../../format/Time.tsx"
import { mount } from "../../frame/UiPath.ts"
import { showDirectionMarks, UserText } from "../UserText.tsx"
import { Steps } from "./Steps.tsx"

/** Pixels from the end of the text within which it is scrolled with the text. */
const nearEnd = 40

/** The text after its last part that is a step: each word is shown once. */
const textAfter = (steps: ReadonlyArray<Step>, text: string): string => {
  const { detail, title = "" } = steps.findLast(({ kind }) => kind === "text") ?? {}
  const said = detail ?? title
  const at = said === "" ? -1 : text.lastIndexOf(said)
  return at < 0 ? text : text.slice(at + said.length).trimStart()
}

/** The agent's current activity, its steps, and the text that it has written since. Its height does not change. */
export const LiveProgress = ({
  run_id,
  since,
  heading: Title
}: {
  readonly run_id: string
  /** When the agent began, if that is not shown elsewhere. */
  readonly since?: string | undefined
  readonly heading: "h2" | "h3"
}) => {
  const { activity, steps: reports, text } = useProgress(run_id)
  const steps = toSteps(reports)
  const area = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when there is more
  useEffect(() => {
    if (follows.current && area.current) area.current.scrollTop = area.current.scrollHeight
  }, [text, reports])
  return (
    <section className="live-progress" aria-label="Live output">
      <div className="row between">
        <Title>Live output</Title>
        {since !== undefined && (
          <span className="small muted">
            <ElapsedTime since={since} />
          </span>
        )}
      </div>
      <p className="small muted" role="status">
        {activity === undefined ? (
          "The agent has not reported what it does."
        ) : (
          <UserText>{plainText(activity)}</UserText>
        )}
      </p>
      <div
        ref={area}
        className="live-output"
        tabIndex={0}
        role="region"
        aria-label="Output so far"
        onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
          follows.current = scrollHeight - scrollTop - clientHeight < nearEnd
        }}
      >
        {steps.length > 0 && <Steps steps={steps} />}
        <pre dir="auto">{showDirectionMarks(textAfter(steps, text))}</pre>
      </div>
    </section>
  )
}

/** An agent's report of its work so far. */
interface Progress {
  readonly text: string
  readonly activity?: string
  readonly steps: ReadonlyArray<StepReport>
}

const nothing: Progress = { text: "", steps: [] }

/** Characters of the text that are kept: its end. */
const kept = 50_000

/** Steps stay when the work starts over. */
const after = (progress: Progress, { activity, restart, steps = [], text = "" }: RunProgress): Progress => {
  const { activity: before, text: textBefore } = restart ? nothing : progress
  const now = activity ?? before
  return {
    text: (textBefore + text).slice(-kept),
    steps: steps.length === 0 ? progress.steps : mergeSteps(progress.steps, steps),
    ...(now !== undefined && { activity: now })
  }
}

/** Follows a run that has not ended, while its page is visible: a browser allows six connections per host. */
const useProgress = (run_id: string): Progress => {
  const [progress, setProgress] = useState(nothing)
  useEffect(() => {
    let source: EventSource | undefined
    const close = () => {
      source?.close()
      source = undefined
    }
    const open = () => {
      // A new stream begins with everything so far. Later ones of the same `EventSource` continue.
      setProgress(nothing)
      source = new EventSource(`${mount}/api/runs/${run_id}/events`)
      source.addEventListener("progress", ({ data }) => {
        const news = JSON.parse(data) as RunProgress
        setProgress((progress) => after(progress, news))
      })
      for (const end of ["success", "timeout", "cancelled"]) source.addEventListener(end, close)
      // Also the name of the event of a lost connection, which the browser opens again.
      source.addEventListener("error", (event) => "data" in event && close())
    }
    const follow = () => {
      if (document.visibilityState === "hidden") close()
      else if (source === undefined) open()
    }
    follow()
    document.addEventListener("visibilitychange", follow)
    return () => {
      document.removeEventListener("visibilitychange", follow)
      close()
    }
  }, [run_id])
  return progress
}
