import { useState } from "react"
import * as Json from "../../../domain/Json.ts"
import { isLeaderCode } from "../../../domain/run/RunStatus.ts"
import type { Run } from "../../api/Types.ts"
import { formatNumber } from "../../format/Format.ts"
import { RelativeTime } from "../../format/Time.tsx"
import { Button } from "../Button.tsx"
import { loadLater } from "../Loaded.tsx"
import { RawText } from "../RawText.tsx"

const Markdown = loadLater(() => import("./Markdown.tsx"), 3)

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

/** An answer that comes after the run has ended is late. */
const titleOf = ({ error, status }: Pick<Run, "error" | "status">): string => {
  if (error?.code === "answer_too_large") return "Beginning of the answer"
  if (error?.code === "answer_invalid") return "Invalid answer"
  if (isLeaderCode(error?.code)) return "Answer so far"
  return status === "success" ? "Answer" : "Late answer"
}

/** An answer's value as Markdown. */
const ofValue = (value: unknown): string => `\`\`\`json\n${Json.stringify(value, 2)}\n\`\`\``

/** The agent's answer, formatted or as it was received. */
export const Answer = ({
  text,
  run,
  nested = false
}: {
  readonly text: string
  readonly run: Pick<Run, "answer" | "error" | "status">
  /** Inside another section. */
  readonly nested?: boolean
}) => (
  <section
    className={nested ? "stack tight" : "card stack tight"}
    aria-label={nested ? "Answer to the test" : "Answer"}
  >
    <AnswerText
      text={text}
      formatted={run.answer === undefined ? text : ofValue(run.answer)}
      title={titleOf(run)}
      heading={nested ? "h3" : "h2"}
    />
  </section>
)

/** An answer inside another element, with its heading. */
export const AnswerText = ({
  text,
  formatted = text,
  title,
  at,
  heading: Title
}: {
  readonly text: string
  /** As Markdown, if the text is not. */
  readonly formatted?: string
  readonly title: string
  /** When it came, if that is not shown elsewhere. */
  readonly at?: string | undefined
  readonly heading: "h2" | "h3"
}) => {
  const [raw, setRaw] = useState(false)
  const [unfolded, setUnfolded] = useState(false)
  const fold = unfolded ? undefined : foldOf(formatted)
  return (
    <>
      <div className="row between">
        <span className="row">
          <Title>{title}</Title>
          {at !== undefined && (
            <span className="small muted">
              <RelativeTime at={at} />
            </span>
          )}
        </span>
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
          <Markdown text={formatted.slice(0, fold)} />
          {fold !== undefined && (
            <div>
              <Button onPress={() => setUnfolded(true)}>
                Show all {formatNumber(formatted.trimEnd().split("\n").length)} lines
              </Button>
            </div>
          )}
        </>
      )}
    </>
  )
}
