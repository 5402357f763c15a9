import { type Agent, at, reporting, textAt } from "./Agent.ts"

/** Any program that prints replies as JSON, one on a line, with the fields that docs/amqp.md describes. */
export const jsonLines: Pick<Agent, "read"> = {
  read: (work, event) => {
    const reported = reporting(work, event as object)
    const failure = at(event, "type") === "error" ? textAt(event, "message") : undefined
    if (failure !== undefined) return { ...reported, failure, isDone: true }
    const answer = textAt(event, "response")
    return answer === undefined ? reported : { ...reported, answer, isDone: true }
  }
}
