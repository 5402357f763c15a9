/** Interrupts of a graph as questions, and replies as what the graph resumes with. */
import { at, listAt, textAt } from "../output/Reading.ts"

/** A decision on uses of tools, as LangChain's middleware for people in the loop asks for it: one for each use. */
const actionsIn = (interrupt: unknown): ReadonlyArray<unknown> => listAt(interrupt, "value", "action_requests")

const questionIn = (interrupt: unknown): string => {
  const value = at(interrupt, "value")
  const actions = actionsIn(interrupt).map(
    (action) => textAt(action, "description") ?? `${textAt(action, "name")} ${JSON.stringify(at(action, "args"))}`
  )
  if (actions.length > 0) return actions.join("\n\n")
  const said = ["question", "message", "description"].map((name) => textAt(value, name)).find((text) => text)
  return typeof value === "string" ? value : (said ?? JSON.stringify(value))
}

const suggestionsIn = (interrupt: unknown): ReadonlyArray<unknown> =>
  actionsIn(interrupt).length > 0
    ? ["approve", "reject"]
    : ["suggestions", "options", "choices"].flatMap((name) => listAt(interrupt, "value", name))

/** The question, and replies to choose from. */
export const asQuestion = (interrupts: ReadonlyArray<unknown>) => ({
  response: interrupts.map(questionIn).join("\n\n"),
  // Suggestions for one of several questions would not say which.
  suggestions: interrupts.length === 1 ? suggestionsIn(interrupts[0]) : []
})

/** The values that the graph resumes with. `isFromPerson`: the reply may approve a tool's use. Any other rejects it. */
export const asResume = (interrupts: ReadonlyArray<unknown>, reply: string, isFromPerson: boolean): unknown => {
  const isApproved = isFromPerson && /^approve$/i.test(reply.trim())
  const decision = isApproved ? { type: "approve" } : { type: "reject", message: reply }
  const resumes = interrupts.map((interrupt) => {
    const actions = actionsIn(interrupt)
    return [textAt(interrupt, "id"), actions.length > 0 ? { decisions: actions.map(() => decision) } : reply] as const
  })
  return resumes.length === 1 ? resumes[0]![1] : Object.fromEntries(resumes)
}
