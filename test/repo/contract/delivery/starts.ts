import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { DestinationRow } from "../../../../src/domain/delivery/Destination.ts"
import { runEndEvents, runEvents } from "../../../../src/domain/delivery/DestinationEvent.ts"
import type { Run } from "../../../../src/domain/run/Run.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, endOne, outcomes, queueRun, sendRun, success, together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"
import { attemptAt, claim, deliveriesOf, endRun, failedAt, newDestination, recorded } from "./fixtures.ts"

/** Deliveries of `run.started`, and those that are due once more. */
export const startedDeliveries = (test: Test): void => {
  test("writes once for each destination that wants it that a run was sent, and notifies", function* () {
    const repo = yield* Repo
    const changes = yield* subscribe(repo)
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id)
    yield* newDestination(webhook.id, { events: runEvents, enabled: false })
    const destination = yield* newDestination(webhook.id, { events: runEvents })
    const run_id = yield* sendRun(webhook, 50)
    yield* queueRun(webhook)
    const written = yield* Effect.all(
      count(4).map(() => repo.deliverEarly(at(60))),
      together
    )
    expect(written.toSorted()).toEqual([0, 0, 0, 1])
    const [delivery, ...others] = yield* deliveriesOf(webhook.id)
    expect(others).toEqual([])
    expect(delivery).toMatchObject({
      ...{ destination_id: destination.id, webhook_id: webhook.id, run_id, event: "run.started", status: "pending" },
      ...{ created_at: at(50), next_attempt_at: at(60) }
    })
    const [due] = yield* claim(100)
    expect(due).toMatchObject({ id: delivery!.id, event: "run.started", at: at(50), run: { status: "running" } })
    yield* Stream.fromQueue(changes).pipe(
      Stream.filter(({ _tag }) => _tag === "DeliveryDue"),
      Stream.runHead
    )
  })

  test("writes with the end of a run that it was sent, if that is missing, and not for one that was never sent", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id, { events: runEvents })
    const eventsOf = (run_id: string) =>
      Effect.map(deliveriesOf(webhook.id), (all) =>
        all.filter((one) => one.run_id === run_id).map(({ created_at, event }) => [event, created_at])
      )
    const known = yield* sendRun(webhook, 50)
    yield* repo.deliverEarly(at(60))
    yield* endOne(known, success("Done"), 80)
    const [fast, never] = [yield* sendRun(webhook, 70), yield* queueRun(webhook)]
    yield* endOne(fast, success("Done"), 80)
    yield* endOne(never, outcomes.cancelled, 80)
    yield* repo.deliverEarly(at(90))
    const ended = ["run.succeeded", at(80)]
    expect(yield* eventsOf(known)).toEqual([ended, ["run.started", at(50)]])
    expect(yield* eventsOf(fast)).toEqual([ended, ["run.started", at(70)]])
    expect(yield* eventsOf(never)).toEqual([["run.cancelled", at(80)]])
  })

  test("writes that a run was sent only for callbacks to its URL", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const of = (url: string, events: DestinationRow["events"]) =>
      newDestination(webhook.id, { kind: "callback", url, events })
    const wanted = yield* of("https://ci.example.com/a/", ["run.started"])
    yield* of("https://ci.example.com/b/", ["run.started"])
    yield* of("https://ci.example.com/a/", runEndEvents)
    yield* sendRun(webhook, 50, { callback_url: "https://ci.example.com/a/1" })
    expect(yield* repo.deliverEarly(at(60))).toBe(1)
    expect((yield* deliveriesOf(webhook.id)).map(({ destination_id }) => destination_id)).toEqual([wanted.id])
  })

  test("makes a message with buttons due once more when its run no longer asks, whatever came of it", function* () {
    const repo = yield* Repo
    const changes = yield* subscribe(repo)
    const webhook = yield* createWebhook()
    yield* newDestination(webhook.id, { events: ["run.awaiting_approval"] })
    const ids = yield* Effect.forEach(count(5), () =>
      queueRun(webhook, { hold: { for: "approval", until: at(1_000) } })
    )
    expect(yield* repo.deliverEarly(at(60))).toBe(5)
    const written = yield* Effect.forEach(yield* claim(100), (due, n) =>
      Effect.as(
        recorded(due, attemptAt(100), "delivered", {
          message: { id: `C1/1.${n}`, thread: "C1/1.0" },
          hasButtons: n !== 4
        }),
        due.run.run_id
      )
    )
    expect(new Set(written)).toEqual(new Set(ids))
    const end = (ms: number) => repo.endButtons(at(-1), at(ms))
    expect(yield* end(110)).toBe(0)
    const [approved, denied, cancelled, expired] = written
    yield* repo.decide(approved!, { approves: true, at: at(120), by: "Ann" })
    yield* repo.decide(denied!, { approves: false, at: at(120), by: "Ann" })
    yield* endOne(cancelled!, outcomes.cancelled, 120)
    expect(yield* repo.endButtons(at(0), at(130))).toBe(0)
    const both = yield* Effect.all([end(130), end(130)], together)
    expect(both[0] + both[1]).toBe(3)
    yield* Stream.fromQueue(changes).pipe(
      Stream.filter(({ _tag }) => _tag === "DeliveryDue"),
      Stream.take(2),
      Stream.runDrain
    )
    const due = yield* claim(200)
    expect(due.map(({ run, written }) => [run.run_id, written?.id]).toSorted()).toEqual(
      [approved, denied, cancelled].map((id, n) => [id, `C1/1.${n}`]).toSorted()
    )
    const [first, second, third] = due
    yield* recorded(first!, attemptAt(200), "delivered")
    yield* recorded(second!, failedAt(200), { next_attempt_at: at(300) })
    yield* recorded(third!, failedAt(200), { next_attempt_at: at(300) })
    expect((yield* claim(400, { limitOfFailing: 2 })).map(({ written }) => written?.id).toSorted()).toEqual(
      [second, third].map((one) => one?.written?.id).toSorted()
    )
    yield* repo.expireApprovals(at(1_000))
    expect(yield* end(1_001)).toBe(1)
    expect((yield* claim(1_002)).map(({ run }) => run.run_id)).toEqual([expired])
  })

  test("leaves the buttons of a destination that is off, and counts a message as delivered whose buttons stay", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const destination = yield* newDestination(webhook.id, { events: ["run.succeeded"] })
    const ask = Effect.gen(function* () {
      const report = { asks: ["yes"] }
      yield* endRun(webhook, 100, { status: "success", response: "Go?", report })
      const [due] = yield* claim(200)
      const message = { id: "C1/1.1", thread: "C1/1.1" }
      yield* recorded(due!, attemptAt(200), "delivered", { message, hasButtons: true })
      return due!.run
    })
    /** As a reply: it joins the run's thread. */
    const answer = (run: Run) =>
      Effect.gen(function* () {
        const thread = yield* repo.continueThread(run.run_id, at(250))
        yield* queueRun(webhook, { thread_key: thread.key })
      })
    const statuses = Effect.map(deliveriesOf(webhook.id), (all) => all.map(({ status }) => status))
    const first = yield* ask
    expect(yield* repo.endButtons(at(0), at(240))).toBe(0)
    yield* answer(first)
    expect(yield* repo.endButtons(at(0), at(260))).toBe(1)
    expect(yield* statuses).toEqual(["pending"])
    const off = (enabled: boolean) =>
      repo.updateDestination(webhook.id, destination.id, { enabled, updated_at: at(270) })
    yield* off(false)
    expect(yield* claim(300)).toEqual([])
    expect(yield* statuses).toEqual(["delivered"])
    expect((yield* repo.run(first.run_id)).delivery_failed).toBeUndefined()
    yield* off(true)
    yield* answer(yield* ask)
    yield* off(false)
    expect(yield* repo.endButtons(at(0), at(300))).toBe(0)
    yield* off(true)
    expect(yield* repo.endButtons(at(0), at(300))).toBe(0)
    expect(yield* statuses).toEqual(["delivered", "delivered"])
  })
}
