import { useEffect, useRef } from "react"
import { useProgress } from "../../api/RunProgress.ts"
import { showDirectionMarks, UserText } from "../UserText.tsx"

/** Pixels from the end of the text within which it is scrolled with the text. */
const nearEnd = 40

/** What the agent does now, and the end of the text that it has written. Its height is fixed: what is below does not move. */
export const LiveProgress = ({
  run_id,
  heading: Title
}: {
  readonly run_id: string
  readonly heading: "h2" | "h3"
}) => {
  const { activity, text } = useProgress(run_id)
  const area = useRef<HTMLPreElement>(null)
  const follows = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the text has grown
  useEffect(() => {
    if (follows.current && area.current) area.current.scrollTop = area.current.scrollHeight
  }, [text])
  return (
    <section className="live-progress" aria-label="Live output">
      <Title>Live output</Title>
      <p className="small muted" role="status">
        {activity === undefined ? "The agent has not reported what it does." : <UserText>{activity}</UserText>}
      </p>
      <pre
        ref={area}
        tabIndex={0}
        role="region"
        aria-label="Text so far"
        dir="auto"
        onScroll={({ currentTarget: { clientHeight, scrollHeight, scrollTop } }) => {
          follows.current = scrollHeight - scrollTop - clientHeight < nearEnd
        }}
      >
        {showDirectionMarks(text)}
      </pre>
    </section>
  )
}
