import { expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { NotFound, TeamInUse } from "../../../../src/domain/Errors.ts"
import { makeRunId, type RunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { NewRun } from "../../../../src/repo/run/RunStore.ts"
import {
  acceptOne,
  admitNext,
  admitOne,
  at,
  createWebhook,
  endOne,
  failure,
  newMessage,
  ops,
  outcomes,
  outIds,
  queueRun,
  releaseOne,
  sendRun,
  sentOne,
  startedOne,
  success,
  team,
  timeout
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const undelivered = { status: "timeout", undelivered: true } as const
/** A caller waits for a second, and the agent may work for ten. */
const waited = { mode: "wait", deadline_at: at(1_000), max_work: Duration.seconds(10) } as const

const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))
const releaseUnconfirmed = (toldBy: number, now: number) =>
  Effect.flatMap(Repo, (repo) =>
    Effect.map(repo.releaseUnconfirmed(at(toldBy), at(now)), (runs) => runs.map(({ run_id }) => run_id).sort())
  )

export const unreleased = (test: Test): void => {
  test("a timeout holds an admitted run until its leader is done, and tells the leader of an asynchronous run to stop at once", function* () {
    const webhook = yield* createWebhook()
    const queued = yield* queueRun(webhook)
    yield* endOne(queued, timeout, 100)
    expect(yield* runOf(queued)).toMatchObject({ status: "timeout", released_at: at(100) })
    for (const [end, response] of [
      [success("late"), "late"],
      [failure("stopped"), undefined],
      [undelivered, undefined]
    ] as const) {
      const id = yield* sendRun(webhook, 10)
      const { run } = yield* endOne(id, timeout, 100)
      expect(run).toMatchObject({ status: "timeout", stop_at: at(100) })
      expect(run?.released_at).toBeUndefined()
      // Another server has found the same.
      yield* endOne(id, timeout, 150)
      expect(yield* outIds).toEqual([id])
      yield* endOne(id, end, 200)
      const released = yield* runOf(id)
      expect(released).toMatchObject({ status: "timeout", finished_at: at(100), released_at: at(200) })
      expect(released.conversation.response).toBe(response)
      expect(yield* outIds).toEqual([])
    }
    const unsent = yield* queueRun(webhook)
    yield* admitOne(unsent)
    expect((yield* endOne(unsent, undelivered, 100)).run).toMatchObject({ status: "timeout", released_at: at(100) })
    expect(yield* outIds).toEqual([])
  })

  test("the agent of a caller who has stopped waiting may go on for as long as it may work, if it has the prompt", function* () {
    const repo = yield* Repo
    const inTeam = (name: string, run: Partial<NewRun> = waited) =>
      Effect.flatMap(createWebhook({ team: team(name) }), (webhook) => sendRun(webhook, 10, run))
    const [sent, started, expired] = [yield* inTeam("sent"), yield* inTeam("started"), yield* inTeam("expired")]
    yield* startedOne(started, 500)
    yield* startedOne(expired, 600)
    const unsent = yield* queueRun(yield* createWebhook(), waited)
    yield* admitOne(unsent)
    const brief = yield* inTeam("brief", { ...waited, max_work: Duration.millis(1) })
    for (const id of [sent, started, unsent, brief]) yield* endOne(id, timeout, 1_000)
    expect((yield* repo.expire(at(1_000))).map(({ run_id }) => run_id)).toEqual([expired])
    const stops = yield* Effect.forEach([sent, started, expired, unsent, brief], (id) =>
      Effect.map(runOf(id), ({ stop_at }) => stop_at)
    )
    expect(stops).toEqual([at(10_010), at(10_500), at(10_600), at(1_000), at(1_000)])
    expect(yield* outIds).toEqual([sent, started, expired, unsent, brief].sort())
  })

  test("to cancel such a run says who did, tells the leader to stop, and changes nothing else", function* () {
    const id = yield* sendRun(yield* createWebhook(), 10, waited)
    yield* endOne(id, timeout, 1_000)
    // Retention leaves it: its late answer is kept.
    expect(yield* (yield* Repo).purge(at(1_500))).toBe(0)
    const { recorded, run } = yield* endOne(id, outcomes.cancelled, 2_000)
    expect(recorded).toBe(false)
    const cancelled = { status: "timeout", finished_at: at(1_000), cancelled_by: "host" }
    expect(run).toMatchObject({ ...cancelled, stop_at: at(2_000) })
    yield* endOne(id, { ...outcomes.cancelled, cancelled_by: "caller" }, 3_000)
    expect(yield* runOf(id)).toMatchObject({ ...cancelled, stop_at: at(2_000) })
    yield* endOne(id, success("late"), 4_000)
    expect(yield* runOf(id)).toMatchObject({ ...cancelled, released_at: at(4_000) })

    const over = yield* sendRun(yield* createWebhook(), 10)
    yield* endOne(over, timeout, 100)
    yield* endOne(over, success("late"), 200)
    yield* endOne(over, outcomes.cancelled, 300)
    expect((yield* runOf(over)).cancelled_by).toBeUndefined()
  })

  test("is released when its leader has not confirmed the stop, which is known until the leader is done", function* () {
    const first = yield* sendRun(yield* createWebhook(), 0)
    const later = yield* sendRun(yield* createWebhook({ team: team("other") }), 0, waited)
    yield* endOne(first, timeout, 1_000)
    yield* endOne(later, timeout, 1_000)
    expect(yield* releaseUnconfirmed(999, 30_999)).toEqual([])
    expect(yield* outIds).toEqual([first, later].sort())
    expect(yield* releaseUnconfirmed(1_000, 31_000)).toEqual([first])
    expect(yield* outIds).toEqual([later])
    expect(yield* runOf(first)).toMatchObject({ released_at: at(31_000), unconfirmed: true })
    expect(yield* releaseUnconfirmed(10_000, 40_000)).toEqual([later])

    yield* endOne(first, failure("stopped"), 50_000)
    const confirmed = yield* runOf(first)
    expect([confirmed.released_at, confirmed.unconfirmed]).toEqual([at(31_000), undefined])
  })

  test("keeps its team from getting another run until it is released", function* () {
    const webhook = yield* createWebhook()
    for (const free of [
      (id: RunId) => endOne(id, success("late"), 2_000),
      (id: RunId) => releaseOne(id, 2_000),
      () => releaseUnconfirmed(1_000, 31_000)
    ]) {
      const id = yield* sendRun(webhook, 0)
      const next = yield* queueRun(webhook)
      yield* endOne(id, timeout, 1_000)
      expect(yield* admitNext()).toEqual([])
      yield* free(id)
      expect(yield* admitNext()).toEqual([next])
      yield* endOne(next, success("done"), 3_000)
    }
  })

  test("holds its team, which shows it, is in use, and can be released", function* () {
    const repo = yield* Repo
    const message = yield* newMessage()
    const other = yield* createWebhook({ team: team("other") })
    yield* repo.createTeam(message.team, at(0))
    const workOf = Effect.map(repo.team(message.team), ({ at_work }) => at_work)
    expect(yield* workOf).toBeUndefined()
    const elsewhere = yield* sendRun(other, 0)
    yield* endOne(elsewhere, timeout, 100)
    yield* acceptOne(message)
    const first = message.run_id
    yield* sentOne(first, 10)
    expect(yield* workOf).toEqual([{ run_id: first, status: "running", since: at(10) }])
    yield* startedOne(first, 20)
    expect(yield* workOf).toEqual([{ run_id: first, status: "running", since: at(20) }])
    yield* endOne(first, timeout, 100)
    const ended = { run_id: first, status: "timeout", since: at(20), stop_at: at(100) }
    expect(yield* workOf).toEqual([ended])
    expect((yield* repo.teams).map(({ at_work }) => at_work?.length)).toEqual([1, 1])
    expect(yield* Effect.flip(repo.deleteTeam(ops))).toEqual(new TeamInUse({ team: ops, webhooks: 0, live_runs: 1 }))
    expect(yield* repo.releaseTeam(message.team, at(200))).toEqual([first])
    expect(yield* repo.releaseTeam(message.team, at(300))).toEqual([])
    expect(yield* runOf(first)).toMatchObject({ released_at: at(200), unconfirmed: true })
    expect(yield* workOf).toEqual([{ ...ended, released_at: at(200) }])
    expect(yield* outIds).toEqual([elsewhere])
    expect(yield* Effect.flip(repo.releaseTeam(team("none"), at(300)))).toEqual(new NotFound())

    // The team works on something else: its leader is done with the first one.
    const next = yield* newMessage()
    yield* acceptOne(next)
    yield* endOne(next.run_id, success("done"), 400)
    expect(yield* workOf).toBeUndefined()
    yield* repo.deleteTeam(message.team)
  })

  test("a leader that starts a run that is over works in vain", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const over = yield* sendRun(webhook, 0)
    yield* endOne(over, timeout, 100)
    yield* releaseOne(over, 200)
    const answered = yield* sendRun(webhook, 0)
    yield* endOne(answered, success("done"), 100)
    const live = yield* sendRun(webhook, 0)
    const unreleased = yield* sendRun(yield* createWebhook({ team: team("other") }), 0, waited)
    yield* endOne(unreleased, timeout, 1_000)
    const ids = [live, over, unreleased, answered, yield* makeRunId]
    const inVain = yield* repo.started(ids.map((run_id) => ({ run_id, at: at(2_000) })))
    expect(inVain).toEqual([{ run_id: over, team: webhook.team }])
    expect(yield* runOf(live)).toMatchObject({ started_at: at(2_000) })
  })
}
