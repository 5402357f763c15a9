import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { RunId } from "../../../../src/domain/Id.ts"
import { approvalDays } from "../../../../src/domain/run/Held.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import {
  acceptAll,
  acceptOne,
  at,
  createWebhook,
  drain,
  laneTeams,
  newRun,
  ops,
  queueRun,
  type Target
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

/** A run that may take its place at this time. */
const heldRun = (webhook: Target, ms: number, fields = {}) =>
  queueRun(webhook, { hold: { for: "time", until: at(ms) }, ...fields })

const shown = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))

export const holds = (test: Test): void => {
  test("a run that is held for a time takes its place then, behind those that came before, in the order of the times", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const late = yield* heldRun(webhook, 20_000)
    const early = yield* heldRun(webhook, 10_000)
    const far = yield* heldRun(webhook, 30_000)
    yield* repo.endHolds(at(9_999))
    expect(yield* laneTeams).toEqual([])
    expect(yield* shown(early)).toMatchObject({
      status: "queued",
      held_for: "time",
      held_until: at(10_000),
      joined: 0
    })
    const now = yield* queueRun(webhook)
    yield* repo.endHolds(at(20_000))
    expect(Object.keys(yield* shown(early))).not.toContain("held_for")
    expect(yield* drain()).toEqual([now, early, late])
    expect(yield* shown(far)).toMatchObject({ held_for: "time" })
    expect((yield* repo.claimTick(at(29_999), true)).due).not.toContain("holds")
    expect((yield* repo.claimTick(at(31_000), true)).due).toContain("holds")
  })

  test("the time that a held run may wait for a leader begins when it is let go, early or not", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const held = yield* heldRun(webhook, 100_000, { deadline_at: at(160_000) })
    const other = yield* heldRun(webhook, 100_000, { deadline_at: at(160_000) })
    const expired = (ms: number) =>
      Effect.map(repo.expire(at(ms), { stopped: [ops] }), (runs) => runs.map(({ run_id }) => run_id))
    yield* repo.endHold(held, at(50_000))
    yield* repo.endHolds(at(50_000))
    expect(yield* expired(109_999)).toEqual([])
    expect(yield* expired(110_000)).toEqual([held])
    // An outage of the server: nobody has let go of it.
    expect(yield* expired(1_000_000)).toEqual([])
    yield* repo.endHolds(at(1_000_000))
    expect(yield* expired(1_000_000)).toEqual([other])
  })

  test("a held run that needs approval waits for that afterwards", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const held = yield* heldRun(webhook, 10_000, { needs_approval: true })
    expect(yield* repo.decide(held, { approves: true, at: at(5_000), by: "ana" })).toBeUndefined()
    yield* repo.endHolds(at(11_000))
    expect(yield* shown(held)).toMatchObject({
      held_for: "approval",
      held_until: DateTime.add(at(10_000), { days: approvalDays })
    })
    yield* repo.endHold(held, at(12_000))
    expect(yield* shown(held)).toMatchObject({ held_for: "approval" })
    expect(yield* repo.decide(held, { approves: true, at: at(12_000), by: "ana" })).toMatchObject({ team: ops })
    expect(yield* drain()).toEqual([held])
  })

  test("a window that is closed early takes no further trigger, and a run that is not held does not change", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const window = { coalesce: { key: "one", until: at(30_000), latest: at(60_000) } }
    const first = yield* newRun(webhook, window)
    yield* acceptOne(first)
    yield* repo.endHold(first.run_id, at(10_000))
    yield* acceptOne(yield* newRun(webhook, { coalesce: { key: "one", until: at(40_000), latest: at(60_000) } }))
    expect(yield* shown(first.run_id)).toMatchObject({ held_for: "window", held_until: at(10_000), joined: 1 })
    yield* repo.endHolds(at(10_000))
    const before = yield* shown(first.run_id)
    yield* repo.endHold(first.run_id, at(11_000))
    expect(yield* shown(first.run_id)).toEqual(before)
    expect(yield* drain()).toEqual([first.run_id])
    const ended = yield* shown(first.run_id)
    yield* repo.endHold(first.run_id, at(12_000))
    expect(yield* shown(first.run_id)).toEqual(ended)
  })

  test("held runs count for the queue of their webhook, and those that wait for a time or a person not for that of all", function* () {
    const webhook = yield* createWebhook()
    yield* heldRun(webhook, 10_000)
    yield* queueRun(webhook, { hold: { for: "approval", until: at(10_000) } })
    const limited = { ...webhook, max_queued: 2 }
    const [refused] = yield* acceptAll([yield* newRun(limited)])
    expect(refused).toMatchObject({ failure: { of: "webhook" } })
    const [accepted, full] = yield* acceptAll([yield* newRun(webhook), yield* newRun(webhook)], { maxQueued: 1 })
    expect(accepted).toMatchObject({ success: { _tag: "Accepted" } })
    expect(full).toMatchObject({ failure: { of: "server", limit: 1 } })
  })
}
