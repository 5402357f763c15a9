import { lazy, Suspense, useState } from "react"
import { Button } from "../components/Button.tsx"
import { Loading } from "../components/Loaded.tsx"
import { RawText } from "../components/RawText.tsx"

const Markdown = lazy(() => import("../components/Markdown.tsx"))

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
        <Suspense fallback={<Loading lines={3} />}>
          <Markdown text={text} />
        </Suspense>
      )}
    </section>
  )
}
