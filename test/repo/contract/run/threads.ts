import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptOne,
  acquireTerm,
  at,
  count,
  createWebhook,
  endOne,
  newMessage,
  newRun,
  queueRun,
  success,
  team,
  timeout,
  together,
  unlimited
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const answeredIn = (session_id: string): Outcome => ({ status: "success", response: "done", report: { session_id } })

const threadOf = (id: RunId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.run(id)),
    ({ thread }) => thread
  )

const sessionFor = (id: RunId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.threadsOf([id])),
    (threads) => threads.get(id)?.session_id
  )

export const threads = (test: Test): void => {
  test(
    "a team's runs and messages with one key belong to one thread; other keys and teams have their own, other runs none",
    Effect.gen(function* () {
      const repo = yield* Repo
      const first = yield* createWebhook()
      const second = yield* createWebhook({ name: "second" })
      const elsewhere = yield* createWebhook({ team: team("a") })
      const inThread = { thread_key: "shop#1" }
      const group = [
        yield* newRun(first, inThread),
        yield* newRun(first),
        yield* newRun(second, inThread),
        yield* newRun(first, { thread_key: "shop#2" })
      ]
      yield* repo.accept(group, unlimited)
      const message = yield* newMessage(inThread)
      const other = yield* newRun(elsewhere, inThread)
      yield* acceptOne(message)
      yield* acceptOne(other)
      const [ofFirst, none, ofSecond, ofKey] = yield* Effect.forEach(group, ({ run_id }) => threadOf(run_id))
      expect(ofFirst).toMatchObject({ key: "shop#1" })
      expect(none).toBeUndefined()
      expect(ofSecond).toEqual(ofFirst)
      expect(ofKey).toMatchObject({ key: "shop#2" })
      expect(yield* threadOf(message.run_id)).toEqual(ofFirst)
      expect(yield* threadOf(other.run_id)).toMatchObject({ key: "shop#1" })
      const ids = [ofFirst?.id, ofKey?.id, (yield* threadOf(other.run_id))?.id]
      expect(new Set(ids).size).toBe(3)
      const lane = yield* repo.lane(first.team, 9)
      expect(lane.map(({ thread_key }) => thread_key)).toEqual(["shop#1", undefined, "shop#1", "shop#2", "shop#1"])
      const all = [...group, message].map(({ run_id }) => run_id)
      expect(yield* repo.threadsOf(all)).toEqual(
        new Map([
          [group[0]!.run_id, { id: ofFirst!.id }],
          [group[2]!.run_id, { id: ofFirst!.id }],
          [group[3]!.run_id, { id: ofKey!.id }],
          [message.run_id, { id: ofFirst!.id }]
        ])
      )
    })
  )

  test(
    "begins one thread, however many runs with its key come at once",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const runs = yield* Effect.forEach(count(60), () => newRun(webhook, { thread_key: "shop#1" }))
      const groups = count(6).map((n) => runs.slice(n * 10, n * 10 + 10))
      yield* Effect.forEach(groups, (group) => repo.accept(group, unlimited), together)
      const found = yield* Effect.forEach(runs, ({ run_id }) => threadOf(run_id))
      expect(new Set(found.map((thread) => thread?.id)).size).toBe(1)
      expect(found[0]).toMatchObject({ key: "shop#1" })
    })
  )

  test(
    "a run that is admitted with its acceptance, and a repeat of it, belong to its thread",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const idempotency = { key: "one", request_hash: new Uint8Array(32), expires_at: at(1_000) }
      const make = newRun(webhook, { thread_key: "shop#1", idempotency })
      const first = yield* make
      const admission = { term, run_ids: new Set([first.run_id]), at: at(1) }
      yield* repo.accept([first], { ...unlimited, admission })
      expect((yield* repo.inFlight).map(({ thread_key }) => thread_key)).toEqual(["shop#1"])
      const repeated = yield* acceptOne(yield* make)
      expect(repeated).toMatchObject({ _tag: "Repeated", run: { run_id: first.run_id, thread: { key: "shop#1" } } })
    })
  )

  test(
    "keeps the thread of the first trigger when others join its window",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const coalesce = { key: "a", until: at(30_000) }
      const first = yield* queueRun(webhook, { coalesce, thread_key: "shop#1" })
      yield* queueRun(webhook, { coalesce, thread_key: "shop#2" })
      expect(yield* threadOf(first)).toMatchObject({ key: "shop#1" })
    })
  )

  test(
    "stores a key with characters that PostgreSQL cannot hold, as it stores other texts",
    Effect.gen(function* () {
      const webhook = yield* createWebhook()
      const ids = [yield* queueRun(webhook, { thread_key: "a\0b" }), yield* queueRun(webhook, { thread_key: "a\0b" })]
      const [first, second] = yield* Effect.forEach(ids, threadOf)
      expect(first).toMatchObject({ key: "a\uFFFDb" })
      expect(second).toEqual(first)
    })
  )

  test(
    "threadsOf: the session that the newest ended run of the thread reported, whatever ended without one",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const queue = (fields: Partial<NewRun> = {}) => queueRun(webhook, { thread_key: "shop#1", ...fields })
      const [first, second, third, next] = [yield* queue(), yield* queue(), yield* queue(), yield* queue()]
      const other = yield* queue({ thread_key: "shop#2" })
      expect(yield* sessionFor(next)).toBeUndefined()
      yield* endOne(first, answeredIn("s-1"), 1)
      expect(yield* sessionFor(next)).toBe("s-1")
      yield* endOne(second, timeout, 2)
      yield* endOne(third, success("done"), 3)
      expect(yield* sessionFor(next)).toBe("s-1")
      expect(yield* sessionFor(other)).toBeUndefined()
      // An answer that came late.
      yield* endOne(second, answeredIn("s-2"), 4)
      expect(yield* sessionFor(next)).toBe("s-2")
      yield* endOne(other, answeredIn("s-3"), 5)
      expect(yield* sessionFor(next)).toBe("s-2")
      const failed: Outcome = {
        status: "error",
        error: { code: "agent_error", message: "No disk" },
        report: { session_id: "s-4", session_usage: { output_tokens: 340, cost_usd: 0.125 } }
      }
      yield* endOne(next, failed, 6)
      const last = yield* queue()
      const { id } = (yield* threadOf(last))!
      expect((yield* repo.threadsOf([last])).get(last)).toEqual({ id, ...failed.report })
      expect(yield* repo.threadsOf([])).toEqual(new Map())
    })
  )

  test(
    "threadsOf: the newest run is the last one in the lane, not the one that was accepted last",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const until = at(30_000)
      const coalesced = yield* queueRun(webhook, { thread_key: "shop#1", coalesce: { key: "a", until } })
      const between = yield* queueRun(webhook, { thread_key: "shop#1" })
      yield* repo.closeWindows(DateTime.add(until, { seconds: 1 }))
      yield* endOne(between, answeredIn("s-1"), 1)
      yield* endOne(coalesced, answeredIn("s-2"), 2)
      expect(yield* sessionFor(yield* queueRun(webhook, { thread_key: "shop#1" }))).toBe("s-2")
    })
  )
}
