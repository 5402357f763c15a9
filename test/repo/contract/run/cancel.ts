import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptAll,
  acceptOne,
  admitOne,
  at,
  createWebhook,
  endOne,
  failure,
  newMessage,
  outcomes,
  outIds,
  queueRun,
  releaseOne,
  sendRun,
  statusOf,
  step,
  success,
  team
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const cancelled = outcomes.cancelled

export const cancel = (test: Test): void => {
  test("takes a queued run out of its lane, and it holds nothing", function* () {
    const webhook = yield* createWebhook()
    const first = yield* queueRun(webhook)
    const second = yield* queueRun(webhook)
    const { recorded, run } = yield* endOne(first, cancelled, 100)
    expect(recorded).toBe(true)
    expect(run).toMatchObject({ status: "cancelled", finished_at: at(100), released_at: at(100) })
    expect(yield* outIds).toEqual([])
    expect(yield* admitOne(first)).toBe(false)
    expect(yield* outIds).toEqual([second])
  })

  test("leaves an admitted run its slots until its leader is done with it, and keeps what that answers", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    for (const [end, response] of [
      [success("late"), "late"],
      [failure("stopped"), undefined],
      [{ status: "timeout", undelivered: true }, undefined]
    ] as const) {
      const id = yield* sendRun(webhook, 10)
      yield* endOne(id, cancelled, 100)
      expect((yield* repo.run(id)).released_at).toBeUndefined()
      expect(yield* outIds).toEqual([id])
      yield* endOne(id, cancelled, 150)
      expect(yield* outIds).toEqual([id])
      const { recorded, run } = yield* endOne(id, end, 200)
      expect(recorded).toBe(false)
      expect(run).toMatchObject({ status: "cancelled", finished_at: at(100), released_at: at(200) })
      expect(run?.conversation.response).toBe(response)
      expect(yield* outIds).toEqual([])
    }
  })

  test("release an admitted run without an answer, once", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const run_id = yield* sendRun(webhook, 10)
    yield* releaseOne(run_id, 50)
    expect(yield* statusOf(run_id)).toBe("running")
    yield* endOne(run_id, cancelled, 100)
    yield* step({
      releases: [
        { run_id, at: at(200) },
        { run_id, at: at(250) }
      ]
    })
    yield* releaseOne(run_id, 300)
    expect(yield* repo.run(run_id)).toMatchObject({ finished_at: at(100), released_at: at(200) })
  })

  test("cancelQueued: all that wait for a webhook or a team and were accepted by then, nothing that was admitted", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const admitted = yield* queueRun(webhook)
    yield* admitOne(admitted)
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

  test("cancelQueued thousands in portions", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const runs = yield* Effect.all(Array.from({ length: 1_100 }, () => newMessage({ team: webhook.team })))
    yield* acceptAll(runs)
    // The first one is out.
    expect(yield* repo.cancelQueued({ team: webhook.team }, { at: at(1), by: "host" })).toBe(1_099)
    expect((yield* repo.queued(9)).all).toBe(0)
  })
}
