/** Reads a program's output of JSON lines into the work that they describe, in bounded memory. */
import { StringDecoder } from "node:string_decoder"
import { maxAnswer } from "../../bus/Replies.ts"
import type { LeaderAnswer } from "../Leader.ts"
import type { Output } from "../Program.ts"
import type { Task } from "./Agent.ts"
import { inParagraphs, type Piece } from "./Paragraphs.ts"
import { conclude, nothing, type Reading } from "./Reading.ts"

/** How the lines are read. */
export interface Events {
  /** The reading after one more event. */
  readonly read: (reading: Reading, event: unknown) => Reading
  /** What the event shows of the work. */
  readonly progress: (event: unknown) => Piece | undefined
}

/** The longest line that is read, in UTF-16 code units. An answer of 8 MiB fits; a longer line, of a tool's result, is skipped. */
const maxLine = 6 * maxAnswer

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    // Programs also print warnings among their events.
    return undefined
  }
}

export const eventLines = (
  events: Events,
  { progress, report }: Pick<Task, "progress" | "report">
): Output<LeaderAnswer> => {
  const decoder = new StringDecoder("utf8")
  const show = inParagraphs(progress)
  let reading = nothing
  let line = ""
  let isSkipped = false
  const endLine = () => {
    const event = isSkipped ? undefined : parse(line)
    if (event !== undefined) {
      const before = reading.report
      reading = events.read(reading, event)
      if (reading.report !== undefined && reading.report !== before) report(reading.report)
      show(events.progress(event) ?? {})
    }
    line = ""
    isSkipped = false
  }
  return {
    write: (chunk) => {
      const [first = "", ...others] = decoder.write(chunk).split("\n")
      line += first
      for (const next of others) {
        endLine()
        line = next
      }
      if (line.length > maxLine) {
        line = ""
        isSkipped = true
      }
      return true
    },
    isDone: () => reading.isDone === true,
    result: ({ errors, status }) => {
      endLine()
      const hasFailed = status !== "exit code 0" && status !== "terminated"
      const what = hasFailed ? status : "no answer in its output"
      const failure = errors === "" ? what : `${what}: ${errors}`
      return conclude(hasFailed ? { failure, ...reading } : reading, failure)
    }
  }
}
