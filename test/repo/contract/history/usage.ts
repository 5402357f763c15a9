import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { NotFound } from "../../../../src/domain/Errors.ts"
import { makeWebhookId } from "../../../../src/domain/Id.ts"
import type { AgentUsage } from "../../../../src/domain/run/AgentReport.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acceptOne, createWebhook, endOne, newMessage, ops, queueRun, success } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const answered = (usage: AgentUsage) => ({ status: "success", response: "hi", report: { usage } }) as const

/** `HistoryStore.usage`. */
export const usage = (test: Test): void => {
  test("sums what the runs used that a filter finds; what none of them reported stays unknown", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const sum = (filter: object) => repo.usage(filter)
    expect(yield* sum({})).toEqual({ runs: 0, reported: 0 })
    const [first, second, silent] = yield* Effect.replicateEffect(queueRun(webhook), 3)
    const message = yield* newMessage({ thread_key: "a" })
    yield* acceptOne(message)
    yield* endOne(first!, answered({ input_tokens: 100, output_tokens: 7, cost_usd: 0.25, model: "m-1" }), 1)
    yield* endOne(second!, answered({ input_tokens: 50 }), 2)
    yield* endOne(silent!, success("hi"), 3)
    yield* endOne(message.run_id, answered({ output_tokens: 0, cached_input_tokens: 3 }), 4)

    const ofWebhook = { runs: 3, reported: 2, input_tokens: 150, output_tokens: 7, cost_usd: 0.25 }
    expect(yield* sum({ webhook_id: webhook.id })).toEqual(ofWebhook)
    expect(yield* sum({ team: ops })).toEqual({ ...ofWebhook, runs: 4, reported: 3, cached_input_tokens: 3 })
    expect(yield* sum({ source: "chat" })).toEqual({ runs: 1, reported: 1, output_tokens: 0, cached_input_tokens: 3 })
    expect(yield* sum({ webhook_id: webhook.id, search: "hi" })).toEqual(ofWebhook)
    expect(yield* sum({ statuses: ["error"] })).toEqual({ runs: 0, reported: 0 })
    expect(yield* sum({ search: second })).toEqual({ runs: 1, reported: 1, input_tokens: 50 })
    const { thread } = yield* repo.run(message.run_id)
    expect(yield* sum({ thread_id: thread!.id })).toMatchObject({ runs: 1, output_tokens: 0 })
    const unknown = yield* Effect.flip(sum({ webhook_id: yield* makeWebhookId }))
    expect(unknown).toBeInstanceOf(NotFound)
  })
}
