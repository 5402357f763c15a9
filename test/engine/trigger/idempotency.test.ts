import { expect } from "@effect/vitest"
import { DateTime, Effect, Exit, Fiber, Scope } from "effect"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { echo, lead, makeTeam, makeWebhook, onEngine } from "../Scenario.ts"

onEngine("returns the same run to a repeat, once it has ended and while it is outstanding", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* makeWebhook(team)
  const first = yield* Effect.forkChild(webhook.ask("work", { key: "key" }))
  yield* leader.next
  const second = yield* Effect.forkChild(webhook.ask("work", { key: "key" }))
  yield* Effect.yieldNow
  yield* leader.answer("done")
  const run = yield* Fiber.join(first)
  expect(yield* Fiber.join(second)).toEqual(run)
  expect(yield* webhook.ask("work", { key: "key" })).toEqual(run)
  expect(yield* leader.idle).toBe(true)
})

onEngine("refuses the same key with another body, or without waiting in place of waiting", function* () {
  const team = yield* makeTeam("deploy")
  yield* echo(team)
  const webhook = yield* makeWebhook(team)
  yield* webhook.submit("work", { key: "key" })
  expect((yield* Effect.flip(webhook.submit("other work", { key: "key" })))._tag).toBe("IdempotencyKeyReused")
  expect((yield* Effect.flip(webhook.ask("work", { key: "key" })))._tag).toBe("IdempotencyKeyReused")
})

onEngine(
  "returns the first run although the team has stopped, or the backlog is full, and takes on nothing new",
  function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team)
    const working = yield* Scope.make()
    yield* Scope.provide(echo(team), working)
    const run = yield* webhook.ask("work", { key: "key" })
    yield* Scope.close(working, Exit.void)
    expect(yield* webhook.ask("work", { key: "key" })).toEqual(run)
    expect((yield* Effect.flip(webhook.ask("work", { key: "new key" })))._tag).toBe("TeamNotRunning")
  }
)

onEngine(
  "keeps the first run to its own deadline, whatever the webhook's timeout is when the repeat comes",
  function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 60 })
    const first = yield* Effect.forkChild(webhook.ask("work", { key: "key" }))
    yield* leader.next
    yield* (yield* Repo).updateWebhook(webhook.id, { timeout_seconds: 1, updated_at: yield* DateTime.now })
    const second = yield* Effect.forkChild(webhook.ask("work", { key: "key" }))
    yield* advance("30 seconds")
    yield* leader.answer("done")
    expect((yield* Fiber.join(first)).status).toBe("success")
    expect((yield* Fiber.join(second)).status).toBe("success")
  }
)
