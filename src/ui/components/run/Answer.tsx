import { useState } from "react"
import { formatNumber } from "../../format/Format.ts"
import { Button } from "../Button.tsx"
import { loadLater } from "../LoadedLater.tsx"
import { RawText } from "../RawText.tsx"

const Markdown = loadLater(() => import("../Markdown.tsx"), 3)

/** Longer answers are folded. */
const shownLines = 200

/** The end of the first lines; `undefined` if there are no more. */
const foldOf = (text: string): number | undefined => {
  let at = -1
  for (let line = 0; line < shownLines; line++) {
    at = text.indexOf("\n", at + 1)
    if (at === -1) return undefined
  }
  return at + 1 < text.length ? at : undefined
}

/** The agent's answer, formatted or as it was received. */
export const Answer = ({
  text,
  late,
  nested = false
}: {
  readonly text: string
  /** It arrived after the run ended. */
  readonly late: boolean
  /** Inside another section. */
  readonly nested?: boolean
}) => {
  const [raw, setRaw] = useState(false)
  const [unfolded, setUnfolded] = useState(false)
  const fold = unfolded ? undefined : foldOf(text)
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
        <>
          <Markdown text={text.slice(0, fold)} />
          {fold !== undefined && (
            <div>
              <Button onPress={() => setUnfolded(true)}>
                Show all {formatNumber(text.trimEnd().split("\n").length)} lines
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  )
}
