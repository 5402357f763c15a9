import { Context, Duration, Effect, Fiber, Layer } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { LaneStore } from "../../../src/repo/run/LaneStore.ts"
import { RunStore } from "../../../src/repo/run/RunStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { engine, inFlight, lead, makeTeam, makeWebhook, onEngine, onEngineWith, statusOf, until } from "../Scenario.ts"

onEngine("answers timeout at the deadline, keeps the late answer, and then frees the slot", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* makeWebhook(team, { timeout_seconds: 30 })
  const asking = yield* Effect.forkChild(webhook.ask("slow"))
  const delivery = yield* leader.next
  yield* advance(Duration.millis(29_999))
  expect(yield* statusOf(delivery.prompt.run_id)).toBe("running")
  yield* advance(Duration.millis(1))
  const run = yield* Fiber.join(asking)
  expect(run).toMatchObject({ run_id: delivery.prompt.run_id, status: "timeout" })
  expect(yield* inFlight).toBe(1)

  yield* leader.answer("too late")
  yield* until(Effect.map(inFlight, (total) => total === 0))
  const repo = yield* Repo
  yield* until(Effect.map(repo.run(run.run_id), ({ conversation }) => conversation.response === "too late"))
  expect(yield* statusOf(run.run_id)).toBe("timeout")
})

it.effect("answers two seconds after the deadline at the latest, while the database hangs", () => {
  let hangs = false
  const hanging = Layer.flatMap(layerRepo, (context) => {
    const store = Context.get(context, RunStore)
    const step: typeof store.step = (...args) => Effect.suspend(() => (hangs ? Effect.never : store.step(...args)))
    return Layer.succeedContext(Context.add(context, RunStore, { ...store, step }))
  })
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 5 })
    const asking = yield* Effect.forkChild(webhook.ask("slow"))
    const { prompt } = yield* leader.next
    hangs = true
    yield* advance("7 seconds")
    expect(yield* Effect.flip(Fiber.join(asking))).toMatchObject({ _tag: "Unavailable", run_id: prompt.run_id })
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(hanging, BusMemory.layer)))))
})

onEngineWith({ maxConcurrent: 1 })("never sends a run whose deadline passed while it waited for a slot", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const long = yield* makeWebhook(team, { timeout_seconds: 1000 })
  const short = yield* makeWebhook(team, { timeout_seconds: 10 })
  yield* long.submit("first")
  yield* leader.next
  const asking = yield* Effect.forkChild(short.ask("never sent"))
  const repo = yield* Repo
  yield* until(Effect.map(repo.queued(9), ({ all }) => all === 1))
  yield* advance("10 seconds")
  expect((yield* Fiber.join(asking)).status).toBe("timeout")
  const third = yield* long.submit("third")
  yield* leader.answer("done")
  const delivery = yield* leader.next
  expect(delivery).toMatchObject({ text: "third", prompt: { run_id: third } })
})

it.effect("lets nothing expire while the broker takes no messages, and leaders cannot send their answers", () => {
  let isFull = true
  const bus = Layer.flatMap(BusMemory.layer, (context) => {
    const open = Context.get(context, Bus)
    const blocked = new Unavailable({ what: "broker", detail: "no memory left" })
    return Layer.succeedContext(
      Context.add(context, Bus, { ...open, ping: Effect.suspend(() => (isFull ? blocked : open.ping)) })
    )
  })
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const id = yield* (yield* makeWebhook(team, { timeout_seconds: 3 })).submit("work")
    yield* leader.next
    yield* advance("5 seconds")
    expect(yield* statusOf(id)).toBe("running")
    isFull = false
    yield* advance("5 seconds")
    expect(yield* statusOf(id)).toBe("running")
    yield* advance("7 seconds")
    expect(yield* statusOf(id)).toBe("timeout")
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(layerRepo, bus)))))
})

it.effect("lets nothing expire just after a time without the database, in which no answer was recorded", () => {
  let isAway = false
  const repo = Layer.flatMap(layerRepo, (context) => {
    const store = Context.get(context, LaneStore)
    const away = new Unavailable({ what: "database", detail: "away for the test" })
    const claimTick: typeof store.claimTick = (...given) =>
      Effect.suspend(() => (isAway ? away : store.claimTick(...given)))
    return Layer.succeedContext(Context.add(context, LaneStore, { ...store, claimTick }))
  })
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const id = yield* (yield* makeWebhook(team, { timeout_seconds: 3 })).submit("work")
    yield* leader.next
    yield* advance("1 second")
    isAway = true
    yield* advance("5 seconds")
    isAway = false
    yield* advance("5 seconds")
    expect(yield* statusOf(id)).toBe("running")
    yield* advance("10 seconds")
    expect(yield* statusOf(id)).toBe("timeout")
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(repo, BusMemory.layer)))))
})
