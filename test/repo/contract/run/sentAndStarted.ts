import { expect } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { makeRunId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acquireTerm,
  admitAll,
  admitOne,
  at,
  count,
  createWebhook,
  endOne,
  ops,
  queueRun,
  sendRun,
  sentOne,
  startedOne,
  statusOf,
  success,
  timeout
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const second = { timeout: Duration.seconds(1) }

export const sentAndStarted = (test: Test): void => {
  test(
    "start the clock of a fire-and-forget run: when it is sent, and again when it starts",
    Effect.gen(function* () {
      const repo = yield* Repo
      const id = yield* queueRun(yield* createWebhook(), second)
      yield* admitOne(id, yield* acquireTerm)
      yield* sentOne(id, 100)
      const deadline = Effect.map(repo.inFlight, (flight) => flight[0]?.deadline_at)
      expect(yield* deadline).toEqual(at(1_100))
      yield* startedOne(id, 700)
      expect(yield* deadline).toEqual(at(1_700))
      yield* startedOne(id, 900)
      expect(yield* deadline).toEqual(at(1_700))
      expect(yield* repo.run(id)).toMatchObject({ status: "running", sent_at: at(100), started_at: at(700) })
    })
  )

  test(
    "start the clock again when a run is sent again",
    Effect.gen(function* () {
      const repo = yield* Repo
      const id = yield* sendRun(yield* createWebhook(), yield* acquireTerm, 100, second)
      yield* sentOne(id, 600)
      expect((yield* repo.inFlight)[0]?.deadline_at).toEqual(at(1_600))
      expect((yield* repo.run(id)).sent_at).toEqual(at(600))
    })
  )

  test(
    "never move the deadline of a run whose caller waits",
    Effect.gen(function* () {
      const repo = yield* Repo
      const waiting = { mode: "wait", deadline_at: at(5_000) } as const
      const id = yield* sendRun(yield* createWebhook(), yield* acquireTerm, 100, waiting)
      yield* startedOne(id, 200)
      expect((yield* repo.inFlight)[0]?.deadline_at).toEqual(at(5_000))
    })
  )

  test(
    "may come in the other order, and leave alone what has ended",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const id = yield* queueRun(webhook, second)
      yield* admitOne(id, term)
      yield* startedOne(id, 50)
      yield* sentOne(id, 60)
      expect(yield* repo.run(id)).toMatchObject({ status: "running", sent_at: at(49), started_at: at(50) })
      expect((yield* repo.inFlight)[0]?.deadline_at).toEqual(at(1_050))
      const ended = yield* queueRun(webhook)
      yield* admitOne(ended, term)
      yield* endOne(ended, success("quick"), 70)
      const before = yield* repo.run(ended)
      yield* sentOne(ended, 80)
      yield* startedOne(ended, 80)
      expect(yield* repo.run(ended)).toEqual(before)
      expect(before.status).toBe("success")
    })
  )

  test(
    "leave alone a run that was not admitted, and one that is unknown",
    Effect.gen(function* () {
      const repo = yield* Repo
      const id = yield* queueRun(yield* createWebhook())
      const events = [
        { run_id: id, at: at(1) },
        { run_id: yield* makeRunId, at: at(1) }
      ]
      yield* repo.sent(events)
      yield* repo.started(events)
      expect((yield* repo.lane(ops, 1))[0]).toMatchObject({ run_id: id, status: "queued" })
      expect(yield* repo.inFlight).toEqual([])
    })
  )

  test(
    "mark many runs in one call, and the first mark of a run counts",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const ids = yield* Effect.forEach(count(20), () => queueRun(webhook))
      yield* admitAll(ids, yield* acquireTerm)
      const events = (ms: number) => ids.map((run_id, i) => ({ run_id, at: at(ms + i) }))
      yield* repo.sent([...events(100), ...events(500)])
      yield* repo.started([...events(200), ...events(600)])
      for (const [i, id] of ids.entries()) {
        const marked = { status: "running", sent_at: at(100 + i), started_at: at(200 + i) }
        expect(yield* repo.run(id)).toMatchObject(marked)
      }
      yield* repo.sent([])
      yield* repo.started([])
    })
  )

  test(
    "forgets that runs were sent and started, and starts the clocks of those that nobody waits for again",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const sent = yield* sendRun(webhook, term, 100)
      const started = yield* sendRun(webhook, term, 100)
      yield* startedOne(started, 200)
      const waiting = yield* sendRun(webhook, term, 100, { mode: "wait", deadline_at: at(5_000) })
      const ended = yield* sendRun(webhook, term, 100)
      yield* endOne(ended, timeout, 300)
      const cancelled = yield* sendRun(webhook, term, 100)
      yield* endOne(cancelled, { status: "cancelled", cancelled_by: "host" }, 300)
      const queued = yield* queueRun(webhook)
      yield* repo.forgetSent(at(1_000))
      const inFlight = yield* repo.inFlight
      expect(inFlight.map(({ run_id, status, deadline_at }) => [run_id, status, deadline_at])).toEqual([
        [sent, "queued", at(61_000)],
        [started, "queued", at(61_000)],
        [waiting, "queued", at(5_000)]
      ])
      expect((yield* repo.run(started)).started_at).toBeUndefined()
      expect(yield* statusOf(ended)).toBe("timeout")
      expect(yield* repo.run(cancelled)).toMatchObject({ status: "cancelled", released_at: at(1_000) })
      expect((yield* repo.lane(webhook.team, 9)).map(({ run_id }) => run_id)).toEqual([queued])
    })
  )
}
