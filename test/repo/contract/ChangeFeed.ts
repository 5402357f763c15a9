import { expect } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Result, Stream } from "effect"
import { type Change, subscribe } from "../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import {
  acceptAll,
  at,
  count,
  createWebhook,
  endAll,
  endOne,
  newRun,
  requestTo,
  sendRun,
  startedOne,
  step,
  success,
  team
} from "./fixtures.ts"
import type { Test } from "./RepoContract.ts"

export const changeFeed = (test: Test): void => {
  test("reports acceptance, start, end, edits and stored requests", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const seen: Array<Change> = []
    const wanted: ReadonlyArray<Change["_tag"]> = [
      "RunAccepted",
      "RunStarted",
      "RunEnded",
      "WebhookChanged",
      "RequestsStored"
    ]
    const changes = yield* subscribe(repo)
    const reader = yield* Effect.forkChild(
      Stream.runForEachWhile(Stream.fromQueue(changes), (change) => {
        seen.push(change)
        return Effect.succeed(!wanted.every((tag) => seen.some((change) => change._tag === tag)))
      })
    )
    const id = yield* sendRun(webhook, 1)
    yield* startedOne(id, 2)
    yield* endOne(id, success("done"), 3)
    yield* repo.updateWebhook(webhook.id, { name: "renamed", updated_at: at(4) })
    yield* repo.recordRequests([requestTo(webhook.id, 5)], { refused: 1, ignored: 1, accepted: 1 })
    expect(Exit.isSuccess(yield* Fiber.await(reader))).toBe(true)
    expect(seen).toContainEqual({ _tag: "RunAccepted", team: "ops" })
    expect(seen).toContainEqual({ _tag: "RunStarted", run_id: id })
    expect(seen).toContainEqual({ _tag: "RunEnded", run_id: id })
    expect(seen).toContainEqual({ _tag: "WebhookChanged", webhook_id: webhook.id })
    expect(seen).toContainEqual({ _tag: "RequestsStored", webhook_id: webhook.id })
  })

  test("reports what is accepted and ended, however many they are", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const calm = yield* createWebhook({ team: team("calm") })
    const runs = yield* Effect.forEach(count(250), () => newRun(webhook))
    const admitted = yield* newRun(calm)
    const changes = yield* subscribe(repo)
    const reader = yield* Stream.fromQueue(changes).pipe(
      Stream.filterMap((change) =>
        change._tag === "RunAccepted"
          ? Result.succeed<string>(change.team)
          : change._tag === "RunEnded"
            ? Result.succeed<string>(change.run_id)
            : Result.failVoid
      ),
      Stream.mapAccum(
        () => new Set<string>(),
        (seen, name: string) => [seen.add(name), [seen]]
      ),
      Stream.takeUntil(({ size }) => size >= 2 + runs.length),
      Stream.runLast,
      Effect.forkChild
    )
    yield* step({ accepts: [...runs, admitted] })
    yield* endAll(runs.map(({ run_id }) => ({ run_id, outcome: success("done"), at: at(2) })))
    const seen = Option.getOrThrow(yield* Fiber.join(reader))
    expect(seen).toEqual(new Set([webhook.team, calm.team, ...runs.map(({ run_id }) => run_id)]))
  })

  test("passes on what a process publishes", function* () {
    const repo = yield* Repo
    const changes = yield* subscribe(repo)
    const published = count(3).map((n) => ({ _tag: "KeyTried", attempt: `a1b2,wrong,2001:db8:0:${n}::/64` }) as const)
    yield* repo.publish(published)
    const seen = yield* Stream.runCollect(Stream.take(Stream.fromQueue(changes), 3))
    expect([...seen]).toEqual(published)
  })

  test("names every run of a deleted webhook, however many they are", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const runs = yield* Effect.forEach(count(250), () => newRun(webhook))
    yield* acceptAll(runs)
    const changes = yield* subscribe(repo)
    const reader = yield* Stream.fromQueue(changes).pipe(
      Stream.filterMap((change) => (change._tag === "RunEnded" ? Result.succeed(change.run_id) : Result.failVoid)),
      Stream.take(250),
      Stream.runCollect,
      Effect.forkChild
    )
    yield* repo.deleteWebhook(webhook.id)
    expect([...(yield* Fiber.join(reader))].sort()).toEqual(runs.map((run) => run.run_id).sort())
  })

  test("answers a ping", function* () {
    yield* (yield* Repo).ping
  })
}
