import { useState } from "react"
import { Button } from "./Button.tsx"
import { loadLater } from "./LoadedLater.tsx"
import { RawText } from "./RawText.tsx"

const Markdown = loadLater(() => import("./Markdown.tsx"), 3)

/** The agent's answer, formatted or as it was received. */
export const Answer = ({
  text,
  late,
  nested = false
}: {
  readonly text: string
  /** It arrived after the run had ended. */
  readonly late: boolean
  /** Inside another section, rather than one of its own. */
  readonly nested?: boolean
}) => {
  const [raw, setRaw] = useState(false)
  const Title = nested ? "h3" : "h2"
  return (
    <section
      className={nested ? "stack tight" : "card stack tight"}
      aria-label={nested ? "Answer to the test" : "Answer"}
    >
      <div className="row between">
        <Title>{late ? "Late answer" : "Answer"}</Title>
        <Button compact variant="quiet" onPress={() => setRaw(!raw)}>
          {raw ? "Show formatted" : "Show raw"}
        </Button>
      </div>
      {raw ? (
        <RawText text={text} title="Raw answer" what="the answer" />
      ) : text.trim() === "" ? (
        <p className="muted">The answer is empty.</p>
      ) : (
        <Markdown text={text} />
      )}
    </section>
  )
}
