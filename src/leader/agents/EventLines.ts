/** Reads a program's output of JSON lines into the work that they describe, in bounded memory. */
import { StringDecoder } from "node:string_decoder"
import { maxAnswer } from "../../bus/Replies.ts"
import type { LeaderAnswer } from "../Leader.ts"
import type { Output } from "../Program.ts"
import type { Task } from "./Agent.ts"
import { type Events, readEvents } from "./EventReader.ts"
import { conclude } from "./Reading.ts"

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

export const eventLines = (events: Events, task: Pick<Task, "progress" | "report">): Output<LeaderAnswer> => {
  const decoder = new StringDecoder("utf8")
  const reader = readEvents(events, task)
  let line = ""
  let isSkipped = false
  const endLine = () => {
    const event = isSkipped ? undefined : parse(line)
    if (event !== undefined) reader.take(event)
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
    isDone: () => reader.reading().isDone === true,
    result: ({ errors, status }) => {
      endLine()
      const reading = reader.reading()
      const hasFailed = status !== "exit code 0" && status !== "terminated"
      const what = hasFailed ? status : "no answer in its output"
      const failure = errors === "" ? what : `${what}: ${errors}`
      return conclude(hasFailed ? { failure, ...reading } : reading, failure)
    }
  }
}
