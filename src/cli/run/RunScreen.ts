/** The output of a command that follows a run: the text on standard output, everything else on standard error. */
import { Effect } from "effect"
import type { RunEvent, RunProgress } from "../../api/run/RunEvents.ts"
import { answerText, printable, printError, write } from "../Output.ts"

/** Characters of the shown text that are remembered, to find out what the answer adds to it. */
const remembered = 256 * 1024

interface RunScreen {
  readonly show: (event: RunEvent) => Effect.Effect<void>
}

/** `json`: one line for each event. */
export const make = (json: boolean): RunScreen =>
  json ? { show: ({ data, event }) => write(`${JSON.stringify({ event, data })}\n`) } : makeText()

const makeText = (): RunScreen => {
  /** The end of the shown text. */
  let shown = ""
  let isWhole = true

  const isMidLine = () => shown !== "" && !shown.endsWith("\n")

  const add = (text: string) =>
    Effect.suspend(() => {
      isWhole &&= shown.length + text.length <= remembered
      shown = (shown + text).slice(-remembered)
      return write(answerText(text))
    })
  const endLine = Effect.suspend(() => (isMidLine() ? add("\n") : Effect.void))

  /** On a terminal, a line about the run must not continue a line of its text. */
  const note = (text: string) =>
    Effect.andThen(process.stdout.isTTY && process.stderr.isTTY ? endLine : Effect.void, printError(printable(text)))

  const restart = endLine.pipe(
    Effect.andThen(
      Effect.sync(() => {
        shown = ""
        isWhole = true
      })
    ),
    Effect.andThen(note("The text so far is void; it begins again."))
  )
  const progress = ({ activity, restart: isRestart, text }: RunProgress) =>
    Effect.all(
      [
        isRestart ? restart : Effect.void,
        text === undefined ? Effect.void : add(text),
        activity === undefined ? Effect.void : note(activity)
      ],
      { discard: true }
    )

  /** Adds the part of the answer that the shown text lacks: agents often write the answer as progress first. */
  const answer = (response: string) => {
    if (shown.trimEnd().endsWith(response.trim())) return endLine
    const rest = isWhole && response.startsWith(shown) ? add(response.slice(shown.length)) : undefined
    return Effect.andThen(rest ?? Effect.andThen(endLine, add(`\n${response}`)), endLine)
  }

  return {
    show: (event) => {
      switch (event.event) {
        case "accepted":
          return note(`Accepted as ${event.data.run_id}.`)
        case "started":
          return note("Started.")
        case "progress":
          return progress(event.data)
        case "success":
          return answer(event.data.response)
        case "error":
        case "timeout":
        case "cancelled":
          return endLine
      }
    }
  }
}
