import { Effect, Layer } from "effect"
import { Budget } from "../../src/domain/evaluation/Budget.ts"
import * as EvaluationTasks from "../../src/engine/prompt/EvaluationTasks.ts"
import { Evaluator } from "../../src/engine/prompt/Evaluator.ts"

const tasks: Record<string, { readonly run: (input: any, budget: Budget) => any }> = EvaluationTasks.make()

/** Evaluates everything in the test's own thread: for tests of results, which need not wait for them. */
export const evaluatedHere = Layer.succeed(Evaluator, {
  evaluate: (name, input) => Effect.sync(() => tasks[name]!.run(input, new Budget())),
  evaluateNow: (name, input, budget) => tasks[name]!.run(input, budget),
  refusalOf: () => undefined,
  charge: () => {}
})
