/** Reads a program's output of JSON lines into the work that they describe, in bounded memory. */
import { parsePlain } from "../../../domain/Json.ts"
import type { LeaderAnswer } from "../../Leader.ts"
import type { Output } from "../../Program.ts"
import type { Task } from "../Agent.ts"
import { type Events, readEvents } from "./EventReader.ts"
import { splitLines } from "./Lines.ts"
import { conclude } from "./Reading.ts"
import { limitedBy } from "./UsageLimits.ts"

/** `silence`: how it failed if it ended well, but without a result. */
export const eventLines = (
  events: Events,
  task: Pick<Task, "heard" | "progress" | "report">,
  silence = "no answer in its output"
): Output<LeaderAnswer> => {
  const reader = readEvents(events, task)
  const lines = splitLines((line) => {
    // Programs also print warnings among their events.
    const event = parsePlain(line)
    if (event !== undefined) reader.take(event)
  })
  return {
    write: (chunk) => {
      lines.write(chunk)
      return reader.reading().code === undefined || reader.reading().isDone === true
    },
    isDone: () => reader.reading().isDone === true,
    result: ({ errors, status }) => {
      lines.end()
      const reading = reader.reading()
      const hasEndedWell = status === "exit code 0" || status === "terminated"
      // Its last message is the answer only once it is done.
      const said = reading.isDone || !reading.answer ? "" : `\n\nIts last message: ${reading.answer}`
      const failure = `${hasEndedWell ? silence : status}${errors && `: ${errors}`}${said}`
      // Not by its last message, which may be about such limits.
      const limit = limitedBy(hasEndedWell ? "" : errors)
      return conclude(hasEndedWell && reading.isDone ? reading : { failure, ...limit, ...reading }, failure)
    }
  }
}
