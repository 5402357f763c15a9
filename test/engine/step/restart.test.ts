import { Context, Effect, Exit, Layer, Scope } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import * as BusMemory from "../../../src/bus/BusMemory.ts"
import { isFinal } from "../../../src/domain/run/RunStatus.ts"
import { Checkpoints } from "../../../src/engine/Checkpoints.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { LaneStore } from "../../../src/repo/run/LaneStore.ts"
import { advance, layerRepo } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { echo, engine, lead, makeTeam, makeWebhook, ports, statusOf, until, waiting } from "../Scenario.ts"

it.effect("resumes after a restart what was queued and in flight, in order, as the same runs", function* () {
  const kept = yield* Layer.build(ports)
  const start = (scope: Scope.Scope) =>
    Layer.buildWithScope(Layer.provide(engine({ maxConcurrent: 5 }), Layer.succeedContext(kept)), scope)

  const first = yield* Scope.make()
  const running = yield* start(first)
  const { leader, ids, team } = yield* Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team)
    const leader = yield* lead(team)
    const ids = yield* Effect.forEach(Array.from({ length: 55 }), (_, n) => webhook.submit(`prompt ${n}`))
    yield* leader.next
    return { leader, ids, team }
  }).pipe(Effect.provide(running), Effect.provide(kept))
  yield* Scope.close(first, Exit.void)

  const again = yield* start(yield* Effect.scope)
  yield* Effect.gen(function* () {
    const repo = yield* Repo
    const order: Array<string> = []
    yield* leader.answer("0")
    for (let given = 1; !order.includes(ids.at(-1)!); given++) {
      const { prompt } = yield* leader.next
      order.push(prompt.run_id)
      yield* leader.answer(String(given))
    }
    // The bus in memory outlives its engine here, so the run in work is sent once more.
    expect(order.filter((id) => id !== ids[0])).toEqual(ids.slice(1))
    yield* until(
      Effect.map(
        Effect.forEach(ids, (id) => repo.run(id)),
        (runs) => runs.every((run) => run.status === "success")
      )
    )
    expect(yield* waiting(team)).toBe(0)
  }).pipe(Effect.provide(again), Effect.provide(kept))
})

it.effect("sends a prompt in its caller's trace, also when another process sends it", function* () {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  const kept = yield* Layer.build(ports)
  const start = (scope: Scope.Scope) =>
    Layer.buildWithScope(Layer.provide(engine({ maxConcurrent: 1 }), Layer.succeedContext(kept)), scope)
  const first = yield* Scope.make()
  const leader = yield* Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    // A span of ours would take its place.
    const submit = (text: string) => Effect.withTracerEnabled(webhook.submit(text, { traceparent }), false)
    yield* submit("first")
    expect((yield* leader.next).prompt).toMatchObject({ prompt: "first", traceparent })
    yield* submit("second")
    return leader
  }).pipe(Effect.provide(yield* start(first)), Effect.provide(kept))
  yield* Scope.close(first, Exit.void)
  yield* start(yield* Effect.scope)
  yield* leader.answer("done")
  // The bus in memory outlives its engine here, so the first one may be sent once more.
  let { prompt } = yield* leader.next
  if (prompt.prompt === "first") {
    expect(prompt).toMatchObject({ traceparent })
    yield* leader.answer("done")
    prompt = (yield* leader.next).prompt
  }
  expect(prompt).toMatchObject({ prompt: "second", traceparent })
})

it.effect("gives out no slot while it stops", function* () {
  const kept = yield* Layer.build(ports)
  const first = yield* Scope.make()
  const running = yield* Layer.buildWithScope(
    Layer.provide(engine({ maxConcurrent: 2 }), Layer.succeedContext(kept)),
    first
  )
  yield* Effect.gen(function* () {
    const busy = yield* makeTeam("busy")
    const leader = yield* lead(busy)
    const webhook = yield* makeWebhook(busy)
    yield* Effect.replicateEffect(webhook.submit("work"), 10)
    yield* leader.next
    yield* Scope.close(first, Exit.void)
    expect((yield* (yield* Repo).out).length).toBe(1)
    expect(yield* waiting(busy)).toBe(0)
  }).pipe(Effect.provide(running), Effect.provide(kept))
})

it.effect("starts again after a failure of its own, and sends what it had accepted", () => {
  let broken = true
  const failing = Layer.flatMap(layerRepo, (context) => {
    const store = Context.get(context, LaneStore)
    const lanes = Effect.suspend(() => (broken ? Effect.die(new Error("broken")) : store.lanes))
    return Layer.succeedContext(Context.add(context, LaneStore, { ...store, lanes }))
  })
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const id = yield* (yield* makeWebhook(team, { when_team_stopped: "queue" })).submit("work")
    yield* echo(team)
    yield* advance("10 seconds")
    expect(yield* statusOf(id)).toBe("queued")
    broken = false
    yield* advance("10 seconds")
    yield* until(Effect.map(statusOf(id), (status) => status === "success"))
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(failing, BusMemory.layer)))))
})

/** The ports of servers that come and go: a broker that outlives them, whose replies reach each 2 seconds after its start. */
const portsThatOutlive = Layer.build(
  Layer.merge(
    layerRepo,
    Layer.flatMap(BusMemory.layer, (context) => {
      const bus = Context.get(context, Bus)
      const consume: typeof bus.consume = (...given) =>
        Effect.forkScoped(Effect.delay(bus.consume(...given), "2 seconds"))
      return Layer.succeedContext(Context.add(context, Bus, { ...bus, durable: true, consume }))
    })
  )
)

it.effect("records answers that came while no server ran before the clock counts", function* () {
  const kept = yield* portsThatOutlive
  const start = (scope: Scope.Scope) => Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope)
  const first = yield* Scope.make()
  const running = yield* start(first)
  const { id, leader } = yield* Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const id = yield* (yield* makeWebhook(team, { timeout_seconds: 10 })).submit("work")
    yield* leader.next
    yield* until(Effect.map(statusOf(id), (status) => status === "running"))
    return { id, leader }
  }).pipe(Effect.provide(running), Effect.provide(kept))
  yield* Scope.close(first, Exit.void)
  yield* leader.answer("in time")
  yield* advance("1 minute")
  yield* start(yield* Effect.scope)
  yield* advance("5 seconds")
  expect(yield* Effect.provide(statusOf(id), kept)).toBe("success")
})

/** A server ends after the broker has confirmed a waited run, before the row says so; the next starts after the deadline. */
const restartAfterDeadline = Effect.gen(function* () {
  const kept = yield* portsThatOutlive
  const start = (scope: Scope.Scope, reach: typeof Checkpoints.Service) =>
    Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope).pipe(
      Effect.provideService(Checkpoints, reach)
    )
  const first = yield* Scope.make()
  const running = yield* start(first, (point) =>
    point === "published" ? Effect.interruptible(Effect.never) : Effect.void
  )
  const { id, leader } = yield* Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    yield* Effect.forkChild((yield* makeWebhook(team, { timeout_seconds: 10 })).ask("work"))
    const { prompt } = yield* leader.next
    return { id: prompt.run_id, leader }
  }).pipe(Effect.provide(running), Effect.provide(kept))
  yield* Scope.close(first, Exit.void)
  yield* advance("1 minute")
  const status = Effect.provide(statusOf(id), kept)
  expect(yield* status).toBe("queued")
  yield* start(yield* Effect.scope, () => Effect.void)
  return { leader, status, end: Effect.andThen(until(Effect.map(status, isFinal)), status) }
})

it.effect("records the answer to a waited run that was not known to be sent before its deadline counts", function* () {
  const { leader, end } = yield* restartAfterDeadline
  yield* leader.answer("in time")
  yield* advance("5 seconds")
  expect(yield* end).toBe("success")
  expect(yield* leader.idle).toBe(true)
})

it.effect("times a waited run out that was not known to be sent, once its answer has had time to come", function* () {
  const { leader, status, end } = yield* restartAfterDeadline
  for (let seconds = 0; seconds < 9; seconds++) yield* advance("1 second")
  expect(yield* status).toBe("queued")
  for (let seconds = 0; seconds < 2; seconds++) yield* advance("1 second")
  expect(yield* end).toBe("timeout")
  expect(yield* leader.idle).toBe(true)
})
