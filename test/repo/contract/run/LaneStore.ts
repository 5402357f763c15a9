import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { makeRunId, makeWebhookId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptOne,
  acquireTerm,
  admitAll,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  newMessage,
  ops,
  queueRun,
  sendRun,
  sentOne,
  startedOne,
  statusOf,
  success,
  team,
  timeout
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const laneStore = (test: Test): void => {
  test(
    "holds each team's runs and messages in order of acceptance",
    Effect.gen(function* () {
      const repo = yield* Repo
      expect(yield* repo.lanes).toEqual([])
      const first = yield* createWebhook({ name: "first", max_concurrent: 2 })
      const second = yield* createWebhook({ name: "second" })
      const elsewhere = yield* createWebhook({ team: team("a") })
      const message = yield* newMessage({ prompt: "Hello" })
      const ids = [yield* queueRun(first), yield* queueRun(second)]
      yield* queueRun(elsewhere)
      yield* acceptOne(message)
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      ids.push(message.run_id, yield* queueRun(first, { mode: "wait", deadline_at: at(9), traceparent }))
      expect(yield* repo.lanes).toEqual(["a", "ops"])
      expect((yield* repo.lane(ops, 10)).map((run) => run.run_id)).toEqual(ids)
      expect((yield* repo.lane(ops, 2)).map((run) => run.run_id)).toEqual(ids.slice(0, 2))
      const [ofFirst, ofSecond, chat, waiting] = yield* repo.lane(ops, 10)
      expect(ofFirst).toEqual({
        run_id: ids[0],
        source: "webhook",
        webhook: { id: first.id, name: "first", max_concurrent: 2 },
        team: "ops",
        mode: "async",
        status: "queued",
        prompt: "Deploy api",
        timeout_ms: 60_000,
        accepted_at: expect.anything()
      })
      expect(ofSecond?.webhook).toEqual({ id: second.id, name: "second" })
      expect(Object.keys(chat!)).not.toContain("webhook")
      expect(waiting).toMatchObject({ mode: "wait", deadline_at: at(9), traceparent })
      yield* repo.updateWebhook(first.id, { max_concurrent: 7, name: "renamed", updated_at: at(1) })
      expect((yield* repo.lane(ops, 1))[0]?.webhook).toEqual({ id: first.id, name: "renamed", max_concurrent: 7 })
    })
  )

  test(
    "moves what is admitted from its lane to what is in flight",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const layout = [-3, 4, ["service", 3], ["__proto__", 0], 1] as const
      const ids = [yield* queueRun(webhook, { layout }), yield* queueRun(webhook), yield* queueRun(webhook)] as const
      expect((yield* repo.lane(ops, 9)).map((run) => run.layout)).toEqual([layout, undefined, undefined])
      const term = yield* acquireTerm
      expect(yield* admitOne(ids[1], term)).toBe(true)
      expect(yield* admitOne(ids[0], term)).toBe(true)
      expect(yield* admitOne(ids[0], term)).toBe(true)
      yield* sentOne(ids[0], 100)
      yield* startedOne(ids[0], 200)
      expect((yield* repo.lane(ops, 9)).map((run) => run.run_id)).toEqual([ids[2]])
      expect((yield* repo.inFlight).map((run) => run.layout)).toEqual([layout, undefined])
      expect((yield* repo.inFlight).map(({ run_id, status }) => [run_id, status])).toEqual([
        [ids[0], "running"],
        [ids[1], "queued"]
      ])
    })
  )

  test(
    "does not admit what has ended",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const id = yield* sendRun(webhook, term, 1)
      yield* endOne(id, success("done"), 2)
      expect(yield* statusOf(id)).toBe("success")
      expect(yield* repo.lanes).toEqual([])
      expect(yield* admitOne(id, term)).toBe(false)
    })
  )

  test(
    "admits a hundred in one call, and none that has ended, was sent or is unknown",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const ids = yield* Effect.forEach(count(100), () => queueRun(webhook))
      yield* endOne(ids[7]!, timeout, 1)
      yield* admitOne(ids[8]!, term)
      yield* sentOne(ids[8]!, 1)
      const admitted = yield* admitAll([...ids, yield* makeRunId], term, 5)
      expect(admitted).toEqual(new Set(ids.filter((_, i) => i !== 7 && i !== 8)))
      expect(yield* repo.inFlight).toHaveLength(99)
      expect(yield* admitAll([], term, 6)).toEqual(new Set())
    })
  )

  test(
    "keeps when each run got its slots, and counts the timeout from the admission",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const [first, second] = [yield* queueRun(webhook), yield* queueRun(webhook)]
      const events = [
        { run_id: first, at: at(3) },
        { run_id: second, at: at(7) }
      ]
      yield* repo.admit(events, term, at(9))
      for (const { deadline_at, timeout_ms } of yield* repo.inFlight) expect(deadline_at).toEqual(at(9 + timeout_ms))
      for (const { at, run_id } of events) {
        // An answered run without a reported start counts from here.
        const { run } = yield* endOne(run_id, success("done"), 20)
        expect(run?.started_at).toEqual(at)
      }
    })
  )

  test(
    "gives the webhooks' own limits as they are now",
    Effect.gen(function* () {
      const repo = yield* Repo
      const limited = yield* createWebhook({ max_concurrent: 3 })
      const plain = yield* createWebhook()
      const ids = [limited.id, plain.id, yield* makeWebhookId]
      expect(yield* repo.limits(ids)).toEqual(new Map([[limited.id, 3]]))
      yield* repo.updateWebhook(limited.id, { max_concurrent: null, updated_at: at(1) })
      yield* repo.updateWebhook(plain.id, { max_concurrent: 9, updated_at: at(1) })
      expect(yield* repo.limits(ids)).toEqual(new Map([[plain.id, 9]]))
    })
  )
}
