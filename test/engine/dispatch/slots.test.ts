import { expect, it } from "@effect/vitest"
import { Context, DateTime, Effect, Layer } from "effect"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Teams } from "../../../src/engine/manage/Teams.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { LaneStore } from "../../../src/repo/run/LaneStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import {
  echo,
  engine,
  engineInMemory,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  sendMessage,
  until,
  waiting
} from "../Scenario.ts"

it.scoped("lets the run behind a head that has ended pass immediately", () =>
  Effect.gen(function* () {
    const busy = yield* makeTeam("busy")
    const team = yield* makeTeam("deploy")
    const elsewhere = yield* lead(busy)
    const leader = yield* lead(team)
    const blocker = yield* makeWebhook(busy, { timeout_seconds: 1000 })
    const stuck = yield* makeWebhook(team)
    yield* blocker.submit("holds the only slot")
    yield* elsewhere.next
    yield* stuck.submit("deleted while it waits")
    yield* sendMessage(team, "a chat message needs no slot")
    const repo = yield* Repo
    yield* repo.deleteWebhook(stuck.id)
    yield* advance("1 second")
    expect((yield* leader.next).text).toBe("a chat message needs no slot")
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)

it.scoped("delays no team when another one never answers, however much is queued for it", () =>
  Effect.gen(function* () {
    const stuck = yield* makeTeam("stuck")
    yield* lead(stuck)
    const webhook = yield* makeWebhook(stuck)
    for (let n = 0; n < 1_000; n++) yield* webhook.submit(`stuck ${n}`)
    yield* until(Effect.map(inFlight, (total) => total === 2))
    for (let n = 0; n < 9; n++) {
      const team = yield* makeTeam(`team-${n}`)
      yield* echo(team)
      expect((yield* (yield* makeWebhook(team)).ask("hello")).status).toBe("success")
    }
    expect(yield* inFlight).toBe(2)
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("lets a tenth team work while nine others never answer", () =>
  Effect.gen(function* () {
    for (let n = 0; n < 9; n++) {
      const stuck = yield* makeTeam(`stuck-${n}`)
      yield* lead(stuck)
      const webhook = yield* makeWebhook(stuck)
      yield* Effect.replicateEffect(webhook.submit("stuck"), 10)
    }
    yield* until(Effect.map(inFlight, (total) => total === 18))
    const team = yield* makeTeam("tenth")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const runs = yield* Effect.all(Effect.replicate(webhook.ask("hello"), 50), { concurrency: "unbounded" })
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "success"))
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("applies an edited limit to runs that wait already", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { max_concurrent: 1 })
    yield* Effect.replicateEffect(webhook.submit("work"), 5)
    yield* leader.next
    expect(yield* waiting(team)).toBe(0)
    const repo = yield* Repo
    yield* repo.updateWebhook(webhook.id, { max_concurrent: 2, updated_at: yield* DateTime.now })
    yield* until(Effect.map(waiting(team), (messages) => messages === 1))
    expect(yield* inFlight).toBe(2)
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("stores when each run got its slots, also when their commit has to wait for another", () => {
  const admissions: Array<Parameters<typeof LaneStore.Service.admit>[0]> = []
  const gate = Effect.unsafeMakeLatch(false)
  const slow = Layer.map(layerRepo, (context) => {
    const store = Context.get(context, LaneStore)
    const admit: typeof store.admit = (runs, ...given) => {
      admissions.push(runs)
      return Effect.zipRight(gate.await, store.admit(runs, ...given))
    }
    return Context.add(context, LaneStore, { ...store, admit })
  })
  return Effect.gen(function* () {
    const teams = yield* Teams
    /** A run waits in the lane until the team is resumed. */
    const pausedTeam = Effect.fnUntraced(function* (name: string) {
      const team = yield* makeTeam(name)
      yield* lead(team)
      yield* teams.pause(team)
      yield* (yield* makeWebhook(team)).submit("work")
      return team
    })
    const [first, second] = [yield* pausedTeam("deploy"), yield* pausedTeam("ops")] as const
    yield* teams.resume(first)
    yield* until(Effect.sync(() => admissions.length === 1))
    yield* advance("1 second")
    yield* teams.resume(second)
    yield* advance("1 second")
    yield* gate.open
    yield* until(Effect.sync(() => admissions.length === 2))
    expect(admissions.map((runs) => runs.map(({ at }) => DateTime.toEpochMillis(at)))).toEqual([[0], [1_000]])
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(slow, BusMemory.layer)))))
})
