import { useState } from "react"
import { Button } from "../components/Button.tsx"
import { loadLater } from "../components/LoadedLater.tsx"
import { RawText } from "../components/RawText.tsx"

const Markdown = loadLater(() => import("../components/Markdown.tsx"), 3)

/** The agent's answer, formatted or as it was received. */
export const Answer = ({
  text,
  late
}: {
  readonly text: string
  /** It arrived after the run had ended. */
  readonly late: boolean
}) => {
  const [raw, setRaw] = useState(false)
  return (
    <section className="card stack tight" aria-label="Answer">
      <div className="row between">
        <h2>{late ? "Late answer" : "Answer"}</h2>
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
