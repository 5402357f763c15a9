/** Answers with a shape: agents are told the schema of the answer, and get one more turn if the answer does not match it. */
import { Effect, Result, Struct } from "effect"
import type { Prompt } from "../bus/Bus.ts"
import type { Fault } from "../domain/Errors.ts"
import { faultsIn, isQuick } from "../domain/evaluation/JsonSchema.ts"
import { ThreadId } from "../domain/Id.ts"
import type { AgentReport, AgentUsage } from "../domain/run/AgentReport.ts"
import type { AgentRequest } from "../domain/run/AgentRequest.ts"
import { linesOf, readAnswer } from "../domain/run/Answer.ts"
import type { JsonObject } from "../domain/webhook/WebhookSettingKinds.ts"
import { withinTime } from "../runtime/TimeLimit.ts"
import type { Agent, Task } from "./agents/Agent.ts"
import { inWords } from "./agents/AnswerSchema.ts"
import type { LeaderAnswer, LeaderError } from "./Leader.ts"

/** The CPU time of a check, in milliseconds. Nothing else happens in this process meanwhile. */
const checkTime = 20

/** Only the server finds the faults of an answer that takes longer to check. */
const faultsOf = (schema: JsonObject, response: string): ReadonlyArray<Fault> =>
  Result.match(readAnswer(response), {
    onFailure: (faults) => faults,
    onSuccess: (value) =>
      isQuick(schema, value)
        ? faultsIn(schema, value)
        : Result.getOrElse(
            withinTime(checkTime, () => faultsIn(schema, value)),
            () => []
          )
  })

const correction = (faults: ReadonlyArray<Fault>): string =>
  `The answer must be JSON that matches its schema, and nothing else. It does not match:\n${linesOf(faults)}\n\nAnswer again, with the corrected JSON only.`

/** The maximum length of the first answer in the second prompt, in characters. */
const mostOfAnswer = 64 * 1024

/** In the session of the first turn. An agent that has none gets what was said in it. */
const secondPrompt = (
  { template: _, values: __, ...first }: Prompt,
  answer: string,
  { session_id, session_usage }: AgentReport,
  faults: ReadonlyArray<Fault>
): Prompt => {
  const { history = [], id = ThreadId.make(first.run_id) } = first.thread ?? {}
  return {
    ...first,
    prompt: correction(faults),
    thread: {
      id,
      ...(session_id !== undefined && { session_id }),
      ...(session_usage && { session_usage }),
      history: [...history, { prompt: first.prompt, response: answer.slice(0, mostOfAnswer) }]
    }
  }
}

const counts = ["input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"] as const

const sumOf = (first: AgentUsage = {}, second: AgentUsage = {}): AgentUsage => ({
  ...first,
  ...second,
  ...Object.fromEntries(
    counts.flatMap((name) => {
      const [one, other] = [first[name], second[name]]
      return one === undefined || other === undefined ? [] : [[name, one + other]]
    })
  )
})

/** The report of both turns. */
const together = (first: AgentReport, second: AgentReport = {}): AgentReport => {
  const usage = sumOf(first.usage, second.usage)
  return { ...first, ...second, ...(Struct.keys(usage).length > 0 && { usage }) }
}

/** The correction needs one turn, or two if the agent looks something up. */
const turnsOfCorrection = 2

/** The limits for the second prompt: the remaining cost, and few turns; `undefined`: nothing is left. */
const restOf = (request: AgentRequest = {}, { usage }: AgentReport): AgentRequest | undefined => {
  const { max_cost, max_turns } = request
  const rest = { ...request, ...(max_turns !== undefined && { max_turns: Math.min(max_turns, turnsOfCorrection) }) }
  if (max_cost === undefined) return rest
  const left = max_cost - (usage?.cost_usd ?? 0)
  return left > 0 ? { ...rest, max_cost: left } : undefined
}

/** The agent's answer; to a prompt with an `answer_schema`, that of the second turn if it needs one. */
export const answer = (agent: Agent, task: Task): Effect.Effect<LeaderAnswer, LeaderError> => {
  const schema = task.prompt.agent?.answer_schema
  return schema === undefined ? agent.answer(task) : answerWith(schema, agent, task)
}

const answerWith = (schema: JsonObject, agent: Agent, task: Task): Effect.Effect<LeaderAnswer, LeaderError> =>
  Effect.suspend(() => {
    const isTold = agent.takesSchema?.(schema) === true
    const { prompt: said } = task.prompt
    const prompt = isTold ? task.prompt : { ...task.prompt, prompt: said + inWords(schema) }
    let known: AgentReport = {}
    const report: Task["report"] = (more) => {
      known = { ...known, ...more }
      task.report(more)
    }
    return Effect.flatMap(agent.answer({ ...task, prompt, said, report }), (first) => {
      const { response, report: own } = typeof first === "string" ? { response: first, report: {} } : first
      const before = { ...known, ...own }
      // A question is no answer.
      const faults = before.asks === undefined ? faultsOf(schema, response) : []
      const rest = restOf(prompt.agent, before)
      if (faults.length === 0 || rest === undefined) return Effect.succeed(first)
      task.progress({ activity: "Correcting the answer" })
      const again = agent.answer({
        ...task,
        prompt: { ...secondPrompt(prompt, response, before, faults), agent: rest },
        // The messages before the second turn are not the thread's.
        report: ({ history_given: _, ...more }) => task.report(together(before, more))
      })
      return Effect.match(again, {
        // The first answer shows more.
        onFailure: ({ report }): LeaderAnswer => ({ response, report: together(before, report) }),
        onSuccess: (second): LeaderAnswer => {
          const { response, report } = typeof second === "string" ? { response: second, report: {} } : second
          return { response, report: together(before, report) }
        }
      })
    })
  })
