import type { Events } from "./output/EventReader.ts"
import { at, reporting, textAt } from "./output/Reading.ts"

/** Any program that prints replies as JSON, one on a line, with the fields that docs/amqp.md describes. */
export const jsonLines: Events = {
  read: (reading, event) => {
    if (at(event, "type") === "progress") return reading
    const reported = reporting(reading, event as object)
    const failure = at(event, "type") === "error" ? textAt(event, "message") : undefined
    if (failure !== undefined) return { ...reported, failure, isDone: true }
    const answer = textAt(event, "response")
    return answer === undefined ? reported : { ...reported, answer, isDone: true }
  },
  progress: (event) => {
    if (at(event, "type") !== "progress") return undefined
    const [text, activity] = [textAt(event, "text"), textAt(event, "activity")]
    return { ...(text !== undefined && { text }), ...(activity !== undefined && { activity }) }
  }
}
