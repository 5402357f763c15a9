import { expect, it } from "@effect/vitest"
import { Either } from "effect"
import { type Budget, OverBudget, workLimit } from "../../../src/domain/evaluation/Budget.ts"
import * as Evaluation from "../../../src/engine/prompt/Evaluation.ts"
import { busy } from "../../../src/engine/prompt/TimeLimit.ts"

it("lets what exceeded its budget do little for nine times as long, and other evaluations what they may", () => {
  let time = 0
  const evaluate = Evaluation.make<string>(60_000, () => time)
  const working = (work: number) => (budget: Budget) => {
    time += 100
    try {
      budget.spend(work)
      return "done"
    } catch (error) {
      if (error instanceof OverBudget) return "too much"
      throw error
    }
  }
  expect(evaluate("a", working(workLimit))).toEqual(Either.right("done"))
  expect(evaluate("a", working(workLimit + 1))).toEqual(Either.right("too much"))
  expect(evaluate("a", working(workLimit / 20))).toEqual(Either.right("done"))
  expect(evaluate("a", working(workLimit / 20 + 1))).toEqual(Either.left(busy))
  expect(evaluate("b", working(workLimit))).toEqual(Either.right("done"))
  time = 200 + 9 * 100
  expect(evaluate("a", working(workLimit))).toEqual(Either.right("done"))
})
