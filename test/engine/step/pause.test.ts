/** Paused teams: what is accepted waits, and nothing is sent. */

import { expect } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Teams } from "../../../src/engine/manage/Teams.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import {
  echo,
  engine,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onPorts,
  sendMessage,
  statusOf,
  until,
  waiting
} from "../Scenario.ts"

const pause = (team: TeamName) => Effect.flatMap(Teams, (teams) => teams.pause(team))
const resume = (team: TeamName) => Effect.flatMap(Teams, (teams) => teams.resume(team))

/** A server has looked at the rows again. */
const anotherSecond = advance("1 second")

onEngine(
  "what is in flight goes on, what comes later waits without a slot, and is sent in order and at once",
  function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    const ids = [yield* webhook.submit("1"), yield* webhook.submit("2"), yield* webhook.submit("3")]
    expect((yield* leader.next).text).toBe("1")
    yield* pause(team)
    ids.push(yield* webhook.submit("4"), yield* sendMessage(team, "5"))
    yield* leader.answer("one")
    yield* until(Effect.map(inFlight, (total) => total === 0))
    for (let i = 0; i < 3; i++) yield* anotherSecond
    expect([yield* leader.idle, yield* waiting(team), yield* inFlight]).toEqual([true, 0, 0])
    expect(yield* Effect.forEach(ids, statusOf)).toEqual(["success", "queued", "queued", "queued", "queued"])

    yield* resume(team)
    for (const text of ["2", "3", "4", "5"]) {
      expect((yield* leader.next).text).toBe(text)
      yield* leader.answer("done")
    }
    expect((yield* webhook.submit("6")) && (yield* leader.next).text).toBe("6")
  }
)

onEngine(
  "triggers and messages are accepted also while no leader is connected, and refused again afterwards",
  function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team)
    const queues = yield* makeWebhook(team, { when_team_stopped: "queue" })
    yield* pause(team)
    yield* webhook.submit("1")
    yield* sendMessage(team, "2")
    yield* queues.submit("3")
    const asking = yield* Effect.forkChild(webhook.ask("4"))
    const repo = yield* Repo
    yield* until(Effect.map(repo.team(team), ({ queued }) => queued === 4))
    const seen = yield* echo(team)
    yield* resume(team)
    expect((yield* Fiber.join(asking)).status).toBe("success")
    expect(seen).toEqual(["1", "2", "3", "4"])

    const idle = yield* makeTeam("idle")
    const toIdle = yield* makeWebhook(idle)
    yield* pause(idle)
    yield* resume(idle)
    expect((yield* Effect.flip(toIdle.submit("5")))._tag).toBe("TeamNotRunning")
  }
)

onPorts("a server that takes over sends nothing of a paused team, and what is in flight goes on", function* () {
  const team = yield* makeTeam("deploy")
  const first = yield* Scope.make()
  const context = yield* Scope.provide(Layer.build(engine({ maxConcurrent: 1 })), first)
  const leader = yield* lead(team)
  const inWork = yield* Effect.gen(function* () {
    const webhook = yield* makeWebhook(team)
    const id = yield* webhook.submit("1")
    yield* webhook.submit("2")
    yield* leader.next
    yield* pause(team)
    return id
  }).pipe(Effect.provide(context))
  yield* anotherSecond
  yield* Scope.close(first, Exit.void)

  yield* Effect.gen(function* () {
    for (let i = 0; i < 5; i++) yield* anotherSecond
    // The bus in memory outlives its engine here, so the run in work is sent once more.
    expect(yield* waiting(team)).toBe(1)
    yield* leader.answer("done")
    yield* until(Effect.map(statusOf(inWork), (status) => status === "success"))
    expect((yield* leader.next).text).toBe("1")
    yield* leader.answer("done")
    for (let i = 0; i < 3; i++) yield* anotherSecond
    expect([yield* leader.idle, yield* waiting(team)]).toEqual([true, 0])
    expect((yield* (yield* Repo).team(team)).queued).toBe(1)
    yield* resume(team)
    expect((yield* leader.next).text).toBe("2")
  }).pipe(Effect.provide(engine({ maxConcurrent: 1 })))
})
