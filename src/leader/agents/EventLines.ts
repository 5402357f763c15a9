/** Reads a program's output of JSON lines into the work that they describe, in bounded memory. */
import { StringDecoder } from "node:string_decoder"
import { Effect } from "effect"
import { answerTooLarge, maxAnswer } from "../../bus/Replies.ts"
import { LeaderError } from "../Leader.ts"
import type { Ending, Output } from "../Program.ts"
import { type Agent, nothing, type Work } from "./Agent.ts"

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

const failWith = (message: string, { report }: Work) =>
  new LeaderError({ message, ...(report !== undefined && { report }) })

export const eventLines = ({ read }: Pick<Agent, "read">): Output<{ response: string } & Pick<Work, "report">> => {
  const decoder = new StringDecoder("utf8")
  let work = nothing
  let line = ""
  let isSkipped = false
  const endLine = () => {
    const event = isSkipped ? undefined : parse(line)
    if (event !== undefined) work = read(work, event)
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
    isDone: () => work.isDone === true,
    result: ({ errors, status }: Ending) => {
      endLine()
      const { answer, failure, report } = work
      if (failure !== undefined) return failWith(failure, work)
      if (status !== "exit code 0" && status !== "terminated") {
        return failWith(errors === "" ? status : `${status}: ${errors}`, work)
      }
      if (answer === undefined) return failWith(`no answer in its output${errors === "" ? "" : `: ${errors}`}`, work)
      if (Buffer.byteLength(answer) > maxAnswer) return failWith(answerTooLarge, work)
      return Effect.succeed({ response: answer, ...(report !== undefined && { report }) })
    }
  }
}
