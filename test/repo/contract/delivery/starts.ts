import { expect } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { DestinationRow } from "../../../../src/domain/delivery/Destination.ts"
import { runEndEvents, runEvents } from "../../../../src/domain/delivery/DestinationEvent.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, endOne, outcomes, queueRun, sendRun, success, together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"
import { claim, deliveriesOf, newDestination } from "./fixtures.ts"

/** Deliveries of `run.started`. */
export const startedDeliveries = (test: Test): void => {
  test(
    "writes once for each destination that wants it that a run was sent, and notifies",
    Effect.gen(function* () {
      const repo = yield* Repo
      const changes = yield* subscribe(repo)
      const webhook = yield* createWebhook()
      yield* newDestination(webhook.id)
      yield* newDestination(webhook.id, { events: runEvents, enabled: false })
      expect(yield* repo.anyWantsEarly).toBe(false)
      const destination = yield* newDestination(webhook.id, { events: runEvents })
      expect(yield* repo.anyWantsEarly).toBe(true)
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
  )

  test(
    "writes with the end of a run that it was sent, if that is missing, and not for one that was never sent",
    Effect.gen(function* () {
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
  )

  test(
    "writes that a run was sent only for callbacks to its URL",
    Effect.gen(function* () {
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
  )
}
