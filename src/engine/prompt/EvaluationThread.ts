/** The program of a thread that evaluates filters, schemas and templates, one at a time. */

import { parentPort } from "node:worker_threads"
import { Result } from "effect"
import { Budget } from "../../domain/evaluation/Budget.ts"
import * as Json from "../../domain/Json.ts"
import { threadTime } from "../../runtime/ThreadTime.ts"
import { withinTime } from "../../runtime/TimeLimit.ts"
import * as EvaluationTasks from "./EvaluationTasks.ts"
import type { Answer, Question } from "./Evaluator.ts"

/** The CPU time of one evaluation, in milliseconds: four times what its whole budget of work usually takes. */
const limit = 1_000

const tasks = EvaluationTasks.make()

const evaluate = ({ input, name }: Question): Pick<Answer, "result" | "output"> => {
  const run = tasks[name].run as (input: unknown, budget: Budget) => unknown
  return Result.match(
    withinTime(limit, () => run(Json.parse(input), new Budget())),
    {
      onFailure: ({ _tag }) => ({ result: _tag }),
      onSuccess: (output) => ({ result: "done", output })
    }
  )
}

parentPort!.on("message", (question: Question) => {
  const begun = threadTime()
  let answer: Pick<Answer, "result" | "output">
  try {
    answer = evaluate(question)
  } catch (error) {
    answer = { result: "defect", output: error }
  }
  parentPort!.postMessage({ ...answer, milliseconds: threadTime() - begun } satisfies Answer)
})
