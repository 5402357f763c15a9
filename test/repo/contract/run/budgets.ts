import { expect } from "@effect/vitest"
import { Duration, Effect, Result } from "effect"
import type { AgentUsage } from "../../../../src/domain/run/AgentReport.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import type { Budget } from "../../../../src/domain/webhook/Budget.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptAll,
  acceptOne,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  epoch,
  keyed,
  newRun,
  step,
  type Target,
  timeout,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const day = Duration.toMillis(Duration.days(1))
/** Milliseconds from the fixtures' epoch to the end of its day, in UTC. */
const midnight = day - (epoch % day)

const withBudget = (budget: Partial<Budget>) =>
  Effect.map(
    createWebhook({
      ...(budget.runs !== undefined && { max_runs_per_day: budget.runs }),
      ...(budget.cost_usd !== undefined && { max_cost_per_day: budget.cost_usd })
    }),
    (webhook): Target => ({ ...webhook, budget: { unknown_cost_usd: 0, ...budget } })
  )

const startAt = (webhook: Target, ms = 0, fields: Partial<NewRun> = {}) =>
  Effect.flatMap(newRun(webhook, { accepted_at: at(ms), ...fields }), (run) =>
    Effect.map(
      Effect.result(acceptOne(run)),
      Result.map(() => run.run_id)
    )
  )

/** How many the webhook accepts of this many, in separate calls at once. */
const acceptedOf = (webhook: Target, runs: number, ms = 0) =>
  Effect.map(
    Effect.forEach(count(runs), () => startAt(webhook, ms), together),
    (answers) => answers.filter(Result.isSuccess).length
  )

const done = (usage: AgentUsage): Outcome => ({ status: "success", response: "ok", report: { usage } })

export const budgets = (test: Test): void => {
  test("accepts exactly as many runs as the day's budget has, of one call or of many, and says when it resets", function* () {
    const webhook = yield* withBudget({ runs: 5 })
    const other = yield* withBudget({ runs: 5 })
    const plain = yield* createWebhook()
    const runs = yield* Effect.forEach(count(20), (i) => newRun(i % 2 === 0 ? webhook : plain))
    const answers = yield* acceptAll(runs)
    expect(answers.map(Result.isSuccess)).toEqual(count(20).map((i) => i % 2 === 1 || i < 10))
    expect(yield* acceptedOf(other, 20)).toBe(5)
    for (const target of [webhook, other]) {
      expect(yield* Effect.flip(acceptOne(yield* newRun(target)))).toMatchObject({
        _tag: "BudgetExceeded",
        of: "runs",
        limit: 5,
        used: 5,
        resets_at: at(midnight),
        retry_after_ms: midnight
      })
    }
  })

  test("has a whole budget again after midnight in UTC, and does not go back to an earlier day", function* () {
    const webhook = yield* withBudget({ runs: 2 })
    expect(yield* acceptedOf(webhook, 5, midnight - 1)).toBe(2)
    expect(yield* acceptedOf(webhook, 1, midnight)).toBe(1)
    // Another server's clock is behind.
    expect(yield* acceptedOf(webhook, 5, midnight - 1)).toBe(1)
    expect(yield* acceptedOf(webhook, 5, midnight)).toBe(0)
    expect(yield* acceptedOf(webhook, 5, midnight + 3 * day)).toBe(2)
  })

  test("takes nothing from the budget for repeats, for what is not accepted, and for runs without a budget", function* () {
    const webhook = yield* withBudget({ runs: 2 })
    yield* Effect.flip(acceptOne(yield* newRun({ ...webhook, version: 7 })))
    expect(Result.isFailure((yield* acceptAll([yield* newRun(webhook)], { maxQueued: 0 }))[0]!)).toBe(true)
    const { budget: _, ...unlimitedTarget } = webhook
    expect(yield* acceptedOf(unlimitedTarget, 3)).toBe(3)
    for (const _ of count(3)) yield* acceptOne(yield* keyed(webhook, "k"))
    expect(yield* acceptedOf(webhook, 5)).toBe(1)
    expect(yield* acceptOne(yield* keyed(webhook, "k"))).toMatchObject({ _tag: "Repeated" })
    expect((yield* Effect.flip(acceptOne(yield* keyed(webhook, "new"))))._tag).toBe("BudgetExceeded")
  })

  test("takes nothing from a rate or a budget for runs without it, also beside others in one call", function* () {
    const repo = yield* Repo
    for (const limited of [yield* withBudget({ runs: 2 }), yield* createWebhook({ rate: "2/day" })] as Array<Target>) {
      const { budget: _, rate: __, ...free } = limited
      const runs = yield* Effect.forEach([free, limited, free, limited, free, limited], (target) => newRun(target))
      const answers = yield* acceptAll(runs)
      expect(answers.map(Result.isSuccess)).toEqual([true, true, true, true, true, false])
      expect((yield* repo.dayUse(limited.id, at(0))).runs).toBe(2)
    }
  })

  test("applies an edited budget to what the day has had, beside a rate", function* () {
    const webhook = { ...(yield* createWebhook({ rate: "9/day", max_runs_per_day: 2 })) }
    const budget = (runs: number): Target => ({ ...webhook, budget: { runs, unknown_cost_usd: 0 } })
    expect(yield* acceptedOf(budget(2), 5)).toBe(2)
    expect(yield* acceptedOf(budget(4), 5)).toBe(2)
    expect((yield* Effect.flip(acceptOne(yield* newRun(budget(3)))))._tag).toBe("BudgetExceeded")
    expect(yield* acceptedOf(budget(100), 20)).toBe(5)
    expect((yield* Effect.flip(acceptOne(yield* newRun(budget(100)))))._tag).toBe("RateLimited")
  })

  test("accepts runs until those of the day have cost the budget, also when costs are reported late", function* () {
    const repo = yield* Repo
    const webhook = yield* withBudget({ cost_usd: 1 })
    const end = Effect.fnUntraced(function* (outcome: Outcome, ms = 1) {
      const id = Result.getOrThrow(yield* startAt(webhook, ms))
      yield* admitOne(id)
      yield* endOne(id, outcome, ms)
      return id
    })
    yield* end(done({ cost_usd: 0.5, output_tokens: 9 }))
    yield* end(done({ output_tokens: 9 }))
    expect(yield* repo.dayUse(webhook.id, at(0))).toEqual({ runs: 2, priced_runs: 1, cost_usd: 0.5 })
    yield* end(done({ cost_usd: 0.25 }))
    const late = yield* end(timeout)
    expect(yield* acceptedOf(webhook, 3)).toBe(3)
    yield* endOne(late, done({ cost_usd: 0.25 }), 5)
    const refused = { _tag: "BudgetExceeded", of: "cost", limit: 1, used: 1, resets_at: at(midnight) }
    expect(yield* Effect.flip(acceptOne(yield* newRun(webhook)))).toMatchObject(refused)
    yield* Effect.repeat(repo.rollUp(at(10), Duration.zero), { while: (more) => more })
    expect(yield* Effect.flip(acceptOne(yield* newRun(webhook)))).toMatchObject(refused)
    expect(yield* acceptedOf(yield* withBudget({ cost_usd: 1 }), 1)).toBe(1)
    expect(yield* repo.dayUse(webhook.id, at(midnight))).toEqual({ runs: 0, priced_runs: 0, cost_usd: 0 })
    expect(yield* acceptedOf(webhook, 2, midnight)).toBe(2)
    expect(yield* repo.dayUse(webhook.id, at(midnight))).toMatchObject({ runs: 2, priced_runs: 0 })
  })

  test("counts a run whose cost is not known, or not known yet, as the default", function* () {
    const webhook = yield* withBudget({ cost_usd: 1, unknown_cost_usd: 0.25 })
    const runs = yield* Effect.forEach(count(10), () => startAt(webhook))
    const ids = runs.flatMap((answer) => (Result.isSuccess(answer) ? [answer.success] : []))
    expect(ids).toHaveLength(4)
    yield* admitOne(ids[0]!)
    yield* endOne(ids[0]!, done({ cost_usd: 0.01 }), 2)
    // 0.01 and three times 0.25.
    expect(yield* acceptedOf(webhook, 5)).toBe(1)
    expect(yield* Effect.flip(acceptOne(yield* newRun(webhook)))).toMatchObject({ limit: 1, used: 1.01 })
  })

  test("sends a run with the budget of cost of its webhook, except a replay by a person", function* () {
    const webhook = yield* withBudget({ cost_usd: 0.5 })
    const first = Result.getOrThrow(yield* startAt(webhook))
    yield* startAt(webhook, 0, { replay_of: first })
    const [run] = (yield* step({ teams: [webhook.team] })).admitted
    expect(run).toMatchObject({ accepted_at: at(0), webhook: { id: webhook.id, max_cost_per_day: 0.5 } })
    const [replay] = (yield* step({ ends: [{ run_id: first, outcome: timeout, at: at(1) }], releases: [] })).admitted
    expect(replay).toBeUndefined()
    const [next] = (yield* step({ releases: [{ run_id: first, at: at(2) }] })).admitted
    expect(next!.webhook).toEqual({ id: webhook.id, name: webhook.name })
  })
}
