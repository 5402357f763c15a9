import { expect } from "@effect/vitest"
import { DateTime, Duration, Effect } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptAll,
  acceptOne,
  at,
  count,
  createWebhook,
  endOne,
  failure,
  newMessage,
  newRun,
  ops,
  outRuns,
  queueRun,
  releaseOne,
  sendRun,
  step,
  success,
  team,
  timeout,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const answeredIn = (session_id: string): Outcome => ({ status: "success", response: "done", report: { session_id } })

const threadOf = (id: RunId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.run(id)),
    ({ thread }) => thread
  )

/** The thread with which the next run of the team is sent. */
const nextThread = Effect.map(step({ teams: [ops] }), ({ admitted }) => admitted[0]?.thread)

export const threads = (test: Test): void => {
  test("a prompt has the thread's latest messages if its agent has no session of it, or if its webhook asks for them", function* () {
    const webhook = yield* createWebhook()
    const asking = yield* createWebhook({ thread_history: true })
    const next = (target = webhook, prompt = "Go on.", thread_key = "shop#1") =>
      Effect.gen(function* () {
        const run = yield* newRun(target, { prompt, thread_key })
        const { admitted } = yield* step({ accepts: [run] })
        return { run_id: run.run_id, history: admitted[0]!.thread!.history }
      })
    const first = yield* next(webhook, "One.")
    expect(first.history).toBeUndefined()
    yield* endOne(first.run_id, success("1"), 200)
    const second = yield* next(webhook, "Two.")
    expect(second.history).toEqual([{ prompt: "One.", response: "1" }])
    yield* endOne(second.run_id, answeredIn("s-1"), 200)
    const third = yield* next(webhook, "Three.")
    expect(third.history).toBeUndefined()
    yield* endOne(third.run_id, answeredIn("s-1"), 200)
    const fourth = yield* next(asking, "Four.")
    const answers = ["1", "done", "done"]
    expect(fourth.history).toEqual(
      ["One.", "Two.", "Three."].map((prompt, index) => ({ prompt, response: answers[index] }))
    )
    expect((yield* outRuns)[0]!.thread!.history).toEqual(fourth.history)
    yield* endOne(fourth.run_id, answeredIn("s-1"), 200)

    // Long answers are cut, and old ones left out.
    for (const index of count(6)) {
      const { history = [], run_id } = yield* next(webhook, `${index}`, "shop#2")
      expect(history.map(({ prompt }) => prompt)).toEqual(
        ["0", "1", "2", "3", "4", "5"].slice(Math.max(0, index - 3), index)
      )
      for (const { response } of history) expect(response).toBe(`${"x".repeat(16_384)}…`)
      yield* endOne(run_id, success("x".repeat(20_000)), 200)
    }
  })

  test("a team's runs and messages with one key belong to one thread; other keys and teams have their own, other runs none", function* () {
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
    const { admitted } = yield* step({ accepts: group })
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
    const sent = [...admitted]
    for (const { run_id } of [...group, message]) {
      const thread = yield* threadOf(run_id)
      expect(sent.at(-1)).toMatchObject({ run_id })
      expect(sent.at(-1)!.thread).toEqual(thread && { id: thread.id })
      const next = yield* step({ ends: [{ run_id, outcome: failure("no"), at: at(1) }] })
      sent.push(...next.admitted.filter((run) => run.team === first.team))
    }
  })

  test("begins one thread, however many runs with its key come at once", function* () {
    const webhook = yield* createWebhook()
    const runs = yield* Effect.forEach(count(60), () => newRun(webhook, { thread_key: "shop#1" }))
    const groups = count(6).map((n) => runs.slice(n * 10, n * 10 + 10))
    yield* Effect.forEach(groups, (group) => acceptAll(group), together)
    const found = yield* Effect.forEach(runs, ({ run_id }) => threadOf(run_id))
    expect(new Set(found.map((thread) => thread?.id)).size).toBe(1)
    expect(found[0]).toMatchObject({ key: "shop#1" })
  })

  test("a run that is admitted with its acceptance, and a repeat of it, belong to its thread", function* () {
    const webhook = yield* createWebhook()
    const idempotency = { key: "one", request_hash: new Uint8Array(32), expires_at: at(1_000) }
    const make = newRun(webhook, { thread_key: "shop#1", idempotency })
    const first = yield* make
    const { admitted } = yield* step({ accepts: [first] })
    expect(admitted).toMatchObject([{ run_id: first.run_id, thread_key: "shop#1", thread: {} }])
    const repeated = yield* acceptOne(yield* make)
    expect(repeated).toMatchObject({ _tag: "Repeated", run: { run_id: first.run_id, thread: { key: "shop#1" } } })
  })

  test("keeps the thread of the first trigger when others join its window", function* () {
    const webhook = yield* createWebhook()
    const coalesce = { key: "a", until: at(30_000) }
    const first = yield* queueRun(webhook, { coalesce, thread_key: "shop#1" })
    yield* queueRun(webhook, { coalesce, thread_key: "shop#2" })
    expect(yield* threadOf(first)).toMatchObject({ key: "shop#1" })
  })

  test("stores a key with characters that PostgreSQL cannot hold, as it stores other texts", function* () {
    const webhook = yield* createWebhook()
    const ids = [yield* queueRun(webhook, { thread_key: "a\0b" }), yield* queueRun(webhook, { thread_key: "a\0b" })]
    const [first, second] = yield* Effect.forEach(ids, threadOf)
    expect(first).toMatchObject({ key: "a\uFFFDb" })
    expect(second).toEqual(first)
  })

  test("a run is sent with the session that the newest ended run of its thread reported, whatever ended without one", function* () {
    const webhook = yield* createWebhook()
    const queue = (fields: Partial<NewRun> = {}) => queueRun(webhook, { thread_key: "shop#1", ...fields })
    const sent = (fields: Partial<NewRun> = {}) =>
      Effect.flatMap(queue(fields), (id) => Effect.map(nextThread, (thread) => ({ id, session: thread?.session_id })))
    const first = yield* sent()
    expect(first.session).toBeUndefined()
    yield* endOne(first.id, answeredIn("s-1"), 1)
    const second = yield* sent()
    expect(second.session).toBe("s-1")
    yield* endOne(second.id, timeout, 2)
    yield* releaseOne(second.id, 3)
    const third = yield* sent()
    yield* endOne(third.id, success("done"), 3)
    const other = yield* sent({ thread_key: "shop#2" })
    expect(other.session).toBeUndefined()
    yield* endOne(other.id, answeredIn("s-3"), 4)
    const fourth = yield* sent()
    expect(fourth.session).toBe("s-1")
    yield* endOne(fourth.id, success("done"), 5)
    // An answer that came late.
    yield* endOne(second.id, answeredIn("s-2"), 6)
    const fifth = yield* sent()
    expect(fifth.session).toBe("s-2")
    const failed: Outcome = {
      status: "error",
      error: { code: "agent_error", message: "No disk" },
      report: { session_id: "s-4", session_usage: { output_tokens: 340, cost_usd: 0.125 } }
    }
    yield* endOne(fifth.id, failed, 7)
    const { id } = (yield* threadOf(yield* queue()))!
    expect(yield* nextThread).toEqual({ id, ...failed.report })
  })

  test("a run that is admitted with the end of the one before has its session", function* () {
    const webhook = yield* createWebhook()
    const inThread = { thread_key: "shop#1" }
    const [first, second] = [yield* newRun(webhook, inThread), yield* newRun(webhook, inThread)]
    yield* step({ accepts: [first, second] })
    const { admitted } = yield* step({ ends: [{ run_id: first.run_id, outcome: answeredIn("s-1"), at: at(1) }] })
    expect(admitted).toMatchObject([{ run_id: second.run_id, thread: { session_id: "s-1" } }])
  })

  test("a reply that a late answer admits has its session and its messages", function* () {
    const webhook = yield* createWebhook()
    const answers = [answeredIn("s-1"), success("1")]
    const known = [{ session_id: "s-1" }, { history: [{ prompt: "One.", response: "1" }] }]
    for (const [index, late] of answers.entries()) {
      const fields = { prompt: "One.", thread_key: `shop#${index}`, max_work: Duration.minutes(10) }
      const first = yield* sendRun(webhook, 0, fields)
      yield* endOne(first, timeout, 1)
      const reply = yield* queueRun(webhook, { thread_key: `shop#${index}` })
      expect((yield* step({ teams: [ops] })).admitted).toEqual([])
      const { admitted } = yield* step({ ends: [{ run_id: first, outcome: late, at: at(2) }] })
      expect(admitted).toMatchObject([{ run_id: reply, thread: known[index] }])
      yield* endOne(reply, success("2"), 3)
    }
  })

  test("the newest run is the last one in the lane, not the one that was accepted last", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const until = at(30_000)
    const coalesced = yield* queueRun(webhook, { thread_key: "shop#1", coalesce: { key: "a", until } })
    const between = yield* queueRun(webhook, { thread_key: "shop#1" })
    yield* repo.endHolds(DateTime.add(until, { seconds: 1 }))
    yield* endOne(between, answeredIn("s-1"), 1)
    yield* endOne(coalesced, answeredIn("s-2"), 2)
    yield* queueRun(webhook, { thread_key: "shop#1" })
    expect(yield* nextThread).toMatchObject({ session_id: "s-2" })
  })
}
