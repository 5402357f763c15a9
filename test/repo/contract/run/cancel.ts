import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptOne,
  acquireTerm,
  admitOne,
  at,
  createWebhook,
  endOne,
  failure,
  newMessage,
  outcomes,
  queueRun,
  sendRun,
  startedOne,
  statusOf,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const cancelled = outcomes.cancelled

/** The ids of the runs that hold slots. */
const inFlight = Effect.flatMap(Repo, (repo) => Effect.map(repo.inFlight, (runs) => runs.map(({ run_id }) => run_id)))

export const cancel = (test: Test): void => {
  test(
    "takes a queued run out of its lane, and it holds nothing",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const first = yield* queueRun(webhook)
      const second = yield* queueRun(webhook)
      const { recorded, run } = yield* endOne(first, cancelled, 100)
      expect(recorded).toBe(true)
      expect(run).toMatchObject({ status: "cancelled", finished_at: at(100), released_at: at(100) })
      expect((yield* repo.lane(webhook.team, 9)).map(({ run_id }) => run_id)).toEqual([second])
      expect(yield* admitOne(first, yield* acquireTerm)).toBe(false)
      expect(yield* inFlight).toEqual([])
    })
  )

  test(
    "leaves an admitted run its slots until its leader is done with it, and keeps what that answers",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      for (const [end, response] of [
        [success("late"), "late"],
        [failure("stopped"), undefined],
        [{ status: "timeout", undelivered: true }, undefined]
      ] as const) {
        const id = yield* sendRun(webhook, term, 10)
        yield* endOne(id, cancelled, 100)
        expect((yield* repo.run(id)).released_at).toBeUndefined()
        expect(yield* inFlight).toEqual([id])
        yield* endOne(id, cancelled, 150)
        expect(yield* inFlight).toEqual([id])
        const { recorded, run } = yield* endOne(id, end, 200)
        expect(recorded).toBe(false)
        expect(run).toMatchObject({ status: "cancelled", finished_at: at(100), released_at: at(200) })
        expect(run?.conversation.response).toBe(response)
        expect(yield* inFlight).toEqual([])
      }
    })
  )

  test(
    "release an admitted run without an answer, once",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const run_id = yield* sendRun(webhook, yield* acquireTerm, 10)
      yield* repo.release([{ run_id, at: at(50) }])
      expect(yield* statusOf(run_id)).toBe("running")
      yield* endOne(run_id, cancelled, 100)
      yield* repo.release([
        { run_id, at: at(200) },
        { run_id, at: at(250) }
      ])
      yield* repo.release([{ run_id, at: at(300) }])
      expect(yield* repo.run(run_id)).toMatchObject({ finished_at: at(100), released_at: at(200) })
    })
  )

  test(
    "let the clock of the run behind stand still while the team is at work on a cancelled one",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const term = yield* acquireTerm
      const first = yield* sendRun(webhook, term, 0)
      yield* startedOne(first, 30_000)
      const second = yield* sendRun(webhook, term, 0)
      yield* endOne(first, cancelled, 40_000)
      expect(yield* repo.expire(at(60_000))).toEqual([])
      yield* endOne(first, success("late"), 80_000)
      expect(yield* repo.expire(at(139_999))).toEqual([])
      expect(yield* statusOf(second)).toBe("running")
      yield* repo.expire(at(200_000))
      expect(yield* statusOf(second)).toBe("timeout")
    })
  )

  test(
    "cancelQueued: all that wait for a webhook or a team and were accepted by then, nothing that was admitted",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const other = yield* createWebhook()
      const admitted = yield* queueRun(webhook)
      yield* admitOne(admitted, yield* acquireTerm)
      const mine = [yield* queueRun(webhook), yield* queueRun(webhook)]
      const others = yield* queueRun(other)
      const message = yield* newMessage({ team: webhook.team })
      yield* acceptOne(message)
      const later = yield* queueRun(webhook, { accepted_at: at(500) })

      expect(yield* repo.cancelQueued({ webhook_id: webhook.id }, { at: at(400), by: "host" })).toBe(2)
      for (const id of mine) {
        const ended = { status: "cancelled", cancelled_by: "host", finished_at: at(400), released_at: at(400) }
        expect(yield* repo.run(id)).toMatchObject(ended)
      }
      expect(yield* statusOf(others)).toBe("queued")
      expect(yield* repo.cancelQueued({ team: team("nobody") }, { at: at(400), by: "host" })).toBe(0)
      expect(yield* repo.cancelQueued({ team: webhook.team }, { at: at(600), by: "host" })).toBe(3)
      for (const id of [others, message.run_id, later]) expect(yield* statusOf(id)).toBe("cancelled")
      expect(yield* statusOf(admitted)).toBe("queued")
      expect((yield* repo.queued(9)).all).toBe(0)
      expect((yield* repo.ended(mine)).runs).toHaveLength(2)
    })
  )

  test(
    "cancelQueued thousands in portions",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      const runs = yield* Effect.all(Array.from({ length: 1_100 }, () => newMessage({ team: webhook.team })))
      yield* repo.accept(runs, { maxQueued: 10_000 })
      expect(yield* repo.cancelQueued({ team: webhook.team }, { at: at(1), by: "host" })).toBe(1_100)
      expect((yield* repo.queued(9)).all).toBe(0)
    })
  )
}
