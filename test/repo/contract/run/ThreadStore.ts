import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { NotFound, RunUnfinished, ThreadEnded } from "../../../../src/domain/Errors.ts"
import { auditEventIdAt, type ThreadId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptOne,
  at,
  count,
  createWebhook,
  endOne,
  epoch,
  newMessage,
  ops,
  outRuns,
  queueRun,
  sendRun,
  step,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const inThread = (thread_key: string, ms = 0) => ({ thread_key, accepted_at: at(ms) })

const message = (thread_key: string, ms = 0) =>
  Effect.gen(function* () {
    const run = yield* newMessage(inThread(thread_key, ms))
    yield* acceptOne(run)
    return run.run_id
  })

const threadIdOf = (id: Effect.Success<ReturnType<typeof message>>) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.run(id)),
    ({ thread }) => thread!.id
  )

export const threadStore = (test: Test): void => {
  test("lists a team's threads in pages, those with the newest runs first, all or those with one key", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    expect(yield* repo.threads({ team: ops, limit: 9 })).toEqual({ data: [], next_cursor: null })
    expect(yield* Effect.flip(repo.threads({ team: team("none"), limit: 9 }))).toBeInstanceOf(NotFound)
    for (const n of count(5)) yield* message(`key ${n}`, n)
    const again = yield* message("key 1", 10)
    yield* endOne(again, { status: "success", response: "hi", report: { session_id: "s-1" } }, 11)
    const keys = (page: { readonly data: ReadonlyArray<{ readonly key: string }> }) => page.data.map(({ key }) => key)
    const first = yield* repo.threads({ team: ops, limit: 3 })
    expect(keys(first)).toEqual(["key 1", "key 4", "key 3"])
    expect(first.data[0]).toEqual({
      ...{ id: yield* threadIdOf(again), team: ops, key: "key 1" },
      ...{ created_at: at(1), last_run_at: at(10), session_id: "s-1" }
    })
    const last = yield* repo.threads({ team: ops, limit: 3, cursor: first.next_cursor! })
    expect([keys(last), last.next_cursor]).toEqual([["key 2", "key 0"], null])
    expect(keys(yield* repo.threads({ team: ops, key: "key 2", limit: 9 }))).toEqual(["key 2"])
    expect(yield* repo.thread(first.data[0]!.id)).toEqual(first.data[0])
    const wrong = yield* Effect.flip(repo.threads({ team: ops, limit: 3, cursor: "x" }))
    expect(wrong).toMatchObject({ _tag: "InvalidParameter", name: "cursor" })
  })

  test("finds a thread's runs, newest first", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* queueRun(webhook, inThread("a"))
    yield* queueRun(webhook, inThread("b"))
    const [second, third] = [yield* message("a"), yield* queueRun(webhook, inThread("a"))]
    yield* endOne(first, success("done"), 1)
    const thread_id = yield* threadIdOf(first)
    const ids = (query: object) =>
      Effect.map(repo.runs({ thread_id, limit: 9, ...query }), ({ data }) => data.map(({ run_id }) => run_id))
    expect(yield* ids({})).toEqual([third, second, first])
    expect(yield* ids({ statuses: ["success"] })).toEqual([first])
    expect(yield* ids({ webhook_id: webhook.id })).toEqual([third, first])
    const { next_cursor } = yield* repo.runs({ thread_id, limit: 2 })
    expect(yield* ids({ cursor: next_cursor })).toEqual([first])
    expect(yield* ids({ search: first })).toEqual([first])
  })

  test("ends a thread once, with its audit event: the next run with its key begins another one, without the session", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    const run = yield* message("a")
    yield* endOne(run, { status: "success", response: "hi", report: { session_id: "s-1" } }, 1)
    const id = yield* threadIdOf(run)
    const draft = { id: auditEventIdAt(epoch), at: at(5), action: "thread.reset", actor: "admin_key" } as const
    expect(yield* repo.endThread(id, at(5), draft)).toMatchObject({ id, ended_at: at(5), session_id: "s-1" })
    const again = { ...draft, id: auditEventIdAt(epoch + 1) }
    expect(yield* repo.endThread(id, at(6), again)).toMatchObject({ ended_at: at(5) })
    const { data } = yield* repo.auditEvents({ limit: 9 })
    expect(data.map(({ action, after, object }) => [action, object, after])).toEqual([
      ["thread.reset", id, { team: ops, key: "a" }]
    ])
    const next = yield* message("a", 7)
    expect(yield* threadIdOf(next)).not.toBe(id)
    expect(yield* outRuns).toMatchObject([{ run_id: next, thread: { id: yield* threadIdOf(next) } }])
    expect((yield* repo.threads({ team: ops, key: "a", limit: 9 })).data).toHaveLength(2)
    expect(yield* Effect.flip(repo.endThread(run.replace(/^./, "f") as string as ThreadId, at(8)))).toBeInstanceOf(
      NotFound
    )
  })

  test("continues the thread of a run; an ended run without one begins it, once, and the next run has its session", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const first = yield* queueRun(webhook)
    yield* endOne(first, { status: "success", response: "Merge it?", report: { session_id: "s-1", asks: [] } }, 1)
    const begun = yield* Effect.all([repo.continueThread(first, at(5)), repo.continueThread(first, at(5))], {
      concurrency: 2
    })
    const expected = { id: first, team: ops, key: first, last_run_at: at(5), session_id: "s-1" }
    for (const thread of begun) expect(thread).toMatchObject(expected)
    expect(begun[0]!.created_at).toEqual((yield* repo.run(first)).accepted_at)
    expect(yield* repo.endIdleThreads(at(4), at(6))).toBe(0)
    const reply = yield* message(first, 6)
    expect(yield* threadIdOf(reply)).toBe(begun[0]!.id)
    expect(yield* outRuns).toMatchObject([{ run_id: reply, thread: { id: begun[0]!.id, session_id: "s-1" } }])
    const { data } = yield* repo.runs({ thread_id: begun[0]!.id, limit: 9 })
    expect(data.map(({ run_id, thread }) => [run_id, thread!.key])).toEqual([
      [reply, first],
      [first, first]
    ])
    expect(yield* repo.continueThread(reply, at(7))).toMatchObject({ id: first, last_run_at: at(6) })

    yield* repo.endThread(begun[0]!.id, at(8))
    expect(yield* Effect.flip(repo.continueThread(reply, at(9)))).toBeInstanceOf(ThreadEnded)
    const unused = reply.replace(/^./, "f") as typeof reply
    expect(yield* Effect.flip(repo.continueThread(unused, at(9)))).toBeInstanceOf(NotFound)
  })

  test("a run at work begins one, too, and what its end admits has its session or its answer; one without a place does not", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const ends = [
      { status: "success", response: "1", report: { session_id: "s-1" } },
      { status: "success", response: "1" }
    ] as const
    for (const [index, outcome] of ends.entries()) {
      const first = yield* sendRun(webhook, 0, { prompt: "One." })
      const thread = yield* repo.continueThread(first, at(1))
      expect(thread).toMatchObject({ id: first, key: first })
      expect(yield* repo.continueThread(first, at(1))).toEqual(thread)
      const reply = yield* message(first, 2)
      const { admitted } = yield* step({ ends: [{ run_id: first, outcome, at: at(3) }] })
      const known = [{ session_id: "s-1" }, { history: [{ prompt: "One.", response: "1" }] }][index]
      expect(admitted).toMatchObject([{ run_id: reply, thread: { id: first, ...known } }])
      yield* endOne(reply, success("2"), 4)
    }
    const waiting = yield* queueRun(webhook, { hold: { for: "approval", until: at(100) } })
    const until = at(30_000)
    const keyed = yield* queueRun(webhook, { hold: { for: "approval", until: at(100) }, thread_key: "shop#1" })
    const open = yield* queueRun(webhook, { coalesce: { key: "a", until }, thread_key: "shop#1" })
    for (const id of [waiting, keyed, open])
      expect(yield* Effect.flip(repo.continueThread(id, at(5)))).toBeInstanceOf(RunUnfinished)
  })

  test("begins no thread with a run of a deleted team, and joins an open thread that has the run's ID as its key", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [kept, taken] = [yield* queueRun(webhook), yield* queueRun(webhook)]
    for (const id of [kept, taken]) yield* endOne(id, success("hi"), 1)
    const reply = yield* message(taken, 2)
    const other = yield* threadIdOf(reply)
    expect(yield* repo.continueThread(taken, at(3))).toMatchObject({ id: other, last_run_at: at(3) })

    yield* endOne(reply, success("hi"), 4)
    yield* repo.createTeam(team("other"), at(0))
    yield* repo.updateWebhook(webhook.id, { team: team("other"), updated_at: at(4) })
    yield* repo.deleteTeam(ops)
    expect(yield* Effect.flip(repo.continueThread(kept, at(5)))).toBeInstanceOf(NotFound)
    expect(yield* repo.run(kept)).not.toHaveProperty("thread")
  })

  test("ends idle threads, and none with an unfinished run or a newer one", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    const [idle, newer] = [yield* message("idle", 0), yield* message("newer", 100)]
    yield* message("unfinished", 0)
    for (const id of [idle, newer]) yield* endOne(id, success("hi"), 1)
    expect(yield* repo.endIdleThreads(at(50), at(200))).toBe(1)
    expect(yield* repo.endIdleThreads(at(50), at(200))).toBe(0)
    const { data } = yield* repo.threads({ team: ops, limit: 9 })
    const ended = data.filter(({ ended_at }) => ended_at !== undefined)
    expect(ended.map(({ ended_at, key }) => [key, ended_at])).toEqual([["idle", at(200)]])
  })

  test("a thread is gone with its last run, whatever deletes that, and ends with its team", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const [run, shared] = [yield* queueRun(webhook, inThread("a")), yield* queueRun(webhook, inThread("b"))]
    const chat = yield* message("b")
    const [ofWebhook, ofBoth] = [yield* threadIdOf(run), yield* threadIdOf(shared)]
    yield* repo.deleteWebhook(webhook.id)
    expect(yield* Effect.flip(repo.thread(ofWebhook))).toBeInstanceOf(NotFound)
    expect(yield* repo.thread(ofBoth)).toMatchObject({ key: "b" })
    yield* endOne(chat, success("hi"), 1)
    yield* repo.purge(at(2))
    expect(yield* Effect.flip(repo.thread(ofBoth))).toBeInstanceOf(NotFound)

    const moved = yield* createWebhook()
    const kept = yield* queueRun(moved, inThread("c"))
    yield* endOne(kept, success("hi"), 1)
    yield* repo.createTeam(team("other"), at(0))
    yield* repo.updateWebhook(moved.id, { team: team("other"), updated_at: at(1) })
    const id = yield* threadIdOf(kept)
    expect(yield* repo.thread(id)).not.toHaveProperty("ended_at")
    yield* repo.deleteTeam(ops)
    expect(yield* repo.thread(id)).toHaveProperty("ended_at")
  })
}
