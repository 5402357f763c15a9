import { expect, it } from "@effect/vitest"
import { Context, DateTime, Deferred, Duration, Effect, Exit, Fiber, Layer, Scope, TestClock } from "effect"
import { Bus } from "../../src/bus/Bus.ts"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { Unavailable } from "../../src/domain/Errors.ts"
import type { RunId } from "../../src/domain/Id.ts"
import { isFinal } from "../../src/domain/run/RunStatus.ts"
import { Trigger } from "../../src/engine/accept/Trigger.ts"
import { Checkpoints } from "../../src/engine/Checkpoints.ts"
import { Limiter } from "../../src/engine/dispatch/Limiter.ts"
import { Teams } from "../../src/engine/manage/Teams.ts"
import { Shutdown } from "../../src/engine/Shutdown.ts"
import * as RepoMemory from "../../src/repo/memory/RepoMemory.ts"
import { Repo } from "../../src/repo/Repo.ts"
import { LaneStore } from "../../src/repo/run/LaneStore.ts"
import { LeaseStore } from "../../src/repo/run/LeaseStore.ts"
import { RunStore } from "../../src/repo/run/RunStore.ts"
import {
  echo,
  engine,
  engineInMemory,
  lead,
  makeTeam,
  makeWebhook,
  ports,
  sendMessage,
  until,
  waiting
} from "./Scenario.ts"

const statusOf = (id: RunId) => Effect.flatMap(Repo, (repo) => Effect.map(repo.run(id), ({ status }) => status))
const inFlight = Effect.flatMap(Limiter, (limiter) => Effect.map(limiter.usage, ({ total }) => total))

it.scoped("gives a waiting caller its answer", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const run = yield* webhook.ask("hello")
    expect(run).toMatchObject({ status: "success", conversation: { prompt: "hello", response: "echo: hello" } })
    yield* until(Effect.map(inFlight, (total) => total === 0))
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("keeps a start that was reported at the time of the sending apart from none", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    const work = Effect.fnUntraced(function* (isReported: boolean) {
      const asking = yield* Effect.fork(webhook.ask("hello"))
      const { reply } = yield* leader.next
      if (isReported) yield* reply({ _tag: "Started" })
      yield* leader.answer("done")
      const { sent_at, started_at } = yield* Fiber.join(asking)
      return DateTime.distance(sent_at!, started_at!)
    })
    expect(yield* work(true)).toBe(1)
    expect(yield* work(false)).toBe(0)
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("waits for a run whose acceptance takes long", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const asking = yield* Effect.fork(webhook.ask("hello"))
    yield* TestClock.adjust("5 seconds")
    expect((yield* Fiber.join(asking)).status).toBe("success")
  }).pipe(
    Effect.provide(engineInMemory()),
    Effect.provideService(Checkpoints, (point) => (point === "accept" ? Effect.sleep("5 seconds") : Effect.void))
  )
)

it.scoped("refuses a trigger whose team has no leader, and leaves no run behind", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team)
    const error = yield* Effect.flip(webhook.submit("hello"))
    expect(error._tag).toBe("TeamNotRunning")
    const repo = yield* Repo
    expect((yield* repo.runs({ webhook_id: webhook.id, limit: 10 })).data).toEqual([])
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("sends a team its prompts in the order of acceptance, across webhooks and chat messages", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const one = yield* makeWebhook(team, { max_concurrent: 1 })
    const two = yield* makeWebhook(team, { max_concurrent: 3 })
    const texts = Array.from({ length: 60 }, (_, n) => `prompt ${n}`)
    for (const [n, text] of texts.entries()) {
      yield* n % 3 === 0 ? one.submit(text) : n % 3 === 1 ? two.submit(text) : sendMessage(team, text)
    }
    yield* until(Effect.sync(() => seen.length >= texts.length))
    expect(seen).toEqual(texts)
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 2 })))
)

it.scoped("answers timeout at the deadline, frees the slot, and keeps the late answer", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 30 })
    const asking = yield* Effect.fork(webhook.ask("slow"))
    const delivery = yield* leader.next
    yield* TestClock.adjust(Duration.millis(29_999))
    expect(yield* statusOf(delivery.prompt.run_id)).toBe("running")
    yield* TestClock.adjust(Duration.millis(1))
    const run = yield* Fiber.join(asking)
    expect(run).toMatchObject({ run_id: delivery.prompt.run_id, status: "timeout" })
    yield* until(Effect.map(inFlight, (total) => total === 0))

    yield* leader.answer("too late")
    const repo = yield* Repo
    yield* until(Effect.map(repo.run(run.run_id), ({ conversation }) => conversation.response === "too late"))
    expect(yield* statusOf(run.run_id)).toBe("timeout")
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("never sends a run whose deadline passed while it waited for a slot", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const long = yield* makeWebhook(team, { timeout_seconds: 1000 })
    const short = yield* makeWebhook(team, { timeout_seconds: 10 })
    yield* long.submit("first")
    yield* leader.next
    const asking = yield* Effect.fork(short.ask("never sent"))
    const repo = yield* Repo
    yield* until(Effect.map(repo.lanes, (lanes) => lanes.length === 1))
    yield* TestClock.adjust("10 seconds")
    expect((yield* Fiber.join(asking)).status).toBe("timeout")
    const third = yield* long.submit("third")
    yield* leader.answer("done")
    const delivery = yield* leader.next
    expect(delivery).toMatchObject({ text: "third", prompt: { run_id: third } })
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)

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
    yield* TestClock.adjust("1 second")
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

it.scoped("counts a fire-and-forget run's timeout from the leader's start", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 10 })
    const id = yield* webhook.submit("work")
    const delivery = yield* leader.next
    yield* TestClock.adjust("6 seconds")
    yield* delivery.reply({ _tag: "Started" })
    const repo = yield* Repo
    yield* until(Effect.map(repo.run(id), (run) => run.started_at !== undefined))
    yield* TestClock.adjust("9 seconds")
    expect(yield* statusOf(id)).toBe("running")
    yield* TestClock.adjust("2 seconds")
    expect(yield* statusOf(id)).toBe("timeout")
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("lets nothing expire while the broker takes no messages, and leaders cannot send their answers", () => {
  let isFull = true
  const bus = Layer.map(BusMemory.layer, (context) => {
    const open = Context.get(context, Bus)
    const blocked = new Unavailable({ what: "broker", detail: "no memory left" })
    return Context.add(context, Bus, { ...open, ping: Effect.suspend(() => (isFull ? blocked : open.ping)) })
  })
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const id = yield* (yield* makeWebhook(team, { timeout_seconds: 3 })).submit("work")
    yield* leader.next
    yield* TestClock.adjust("5 seconds")
    expect(yield* statusOf(id)).toBe("running")
    isFull = false
    yield* TestClock.adjust("5 seconds")
    expect(yield* statusOf(id)).toBe("running")
    yield* TestClock.adjust("7 seconds")
    expect(yield* statusOf(id)).toBe("timeout")
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(RepoMemory.layer, bus)))))
})

it.scoped("frees the slots of a team that never answers, when their timeout has passed", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("dead")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 10 })
    const ids = yield* Effect.replicateEffect(webhook.submit("work"), 5)
    yield* leader.next
    yield* until(Effect.map(waiting(team), (messages) => messages === 1))
    for (let seconds = 0; seconds < 45; seconds++) yield* TestClock.adjust("1 second")
    expect(yield* Effect.forEach(ids, statusOf)).toEqual(ids.map(() => "timeout"))
    expect(yield* inFlight).toBe(0)
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 3 })))
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

it.scoped("finishes accepted runs of a disabled webhook, and drops those of a deleted one with their slots", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const disabled = yield* makeWebhook(team)
    const deleted = yield* makeWebhook(team)
    const kept = yield* disabled.submit("kept")
    yield* leader.next
    const asking = yield* Effect.fork(Effect.flip(deleted.ask("dropped")))
    yield* until(Effect.map(waiting(team), (messages) => messages === 1))
    const repo = yield* Repo
    yield* repo.updateWebhook(disabled.id, { enabled: false, updated_at: yield* DateTime.now })
    yield* repo.deleteWebhook(deleted.id)
    yield* TestClock.adjust("1 second")
    expect((yield* Fiber.join(asking))._tag).toBe("NotFound")
    expect((yield* Effect.flip(disabled.submit("refused")))._tag).toBe("NotFound")
    expect(yield* inFlight).toBe(1)
    yield* leader.answer("done")
    yield* until(Effect.map(statusOf(kept), (status) => status === "success"))
    // The prompt was with the broker already; its answer belongs to no run and is dropped.
    yield* leader.next
    yield* leader.answer("to no run")
    yield* until(Effect.map(inFlight, (total) => total === 0))
  }).pipe(Effect.provide(engineInMemory()))
)

it.scoped("resumes after a restart what was queued and in flight, in order, as the same runs", () =>
  Effect.gen(function* () {
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
      yield* until(Effect.map(waiting(team), (messages) => messages === 1))
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
      // The bus in memory still had the second prompt, and what was in flight is sent once more.
      expect(order).toEqual([ids[1], ...ids])
      yield* until(
        Effect.map(
          Effect.forEach(ids, (id) => repo.run(id)),
          (runs) => runs.every((run) => run.status === "success")
        )
      )
      expect(yield* waiting(team)).toBe(0)
    }).pipe(Effect.provide(again), Effect.provide(kept))
  })
)

it.scoped("sends a prompt in its caller's trace, also when another process sends it", () =>
  Effect.gen(function* () {
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
    for (const prompt of ["first", "second"]) {
      expect((yield* leader.next).prompt).toMatchObject({ prompt, traceparent })
      yield* leader.answer("done")
    }
  })
)

it.scoped("sends a caller that waits at the end of a shutdown away, and finishes the run", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    const asking = yield* Effect.fork(Effect.flip(webhook.ask("work")))
    const { prompt } = yield* leader.next
    const shutdown = yield* Shutdown
    yield* shutdown.begin
    expect(yield* Effect.flip(webhook.submit("refused"))).toMatchObject({ _tag: "Unavailable", what: "server" })
    yield* shutdown.stopWaiting
    expect(yield* Fiber.join(asking)).toMatchObject({ _tag: "Unavailable", run_id: prompt.run_id })
    yield* leader.answer("done")
    yield* until(Effect.map(statusOf(prompt.run_id), (status) => status === "success"))
  }).pipe(Effect.provide(engineInMemory()))
)

/** A run that waits for the only slot, while its team's queue goes away. */
const queueGoesAway = Effect.gen(function* () {
  const [busy, team] = [yield* makeTeam("busy"), yield* makeTeam("deploy")]
  const elsewhere = yield* lead(busy)
  yield* (yield* makeWebhook(busy, { timeout_seconds: 1000 })).submit("holds the only slot")
  yield* elsewhere.next
  const working = yield* Scope.make()
  yield* Scope.extend(echo(team), working)
  const id = yield* (yield* makeWebhook(team, { timeout_seconds: 60 })).submit("work")
  yield* Scope.close(working, Exit.void)
  yield* (yield* Bus).removeQueue(team)
  yield* elsewhere.answer("done")
  return { team, id }
})

it.scoped("sends a run whose team's queue was missing once the queue is back", () =>
  Effect.gen(function* () {
    const { team, id } = yield* queueGoesAway
    yield* TestClock.adjust("50 seconds")
    expect(yield* statusOf(id)).toBe("queued")
    yield* echo(team)
    yield* TestClock.adjust("1 second")
    yield* until(Effect.map(statusOf(id), (status) => status === "success"))
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)

it.scoped("ends a run as team_gone when its team's queue stays away for the run's timeout", () =>
  Effect.gen(function* () {
    const { id } = yield* queueGoesAway
    yield* TestClock.adjust("59 seconds")
    expect(yield* statusOf(id)).toBe("queued")
    yield* TestClock.adjust("1 second")
    yield* until(Effect.map(inFlight, (total) => total === 0))
    const repo = yield* Repo
    expect(yield* repo.run(id)).toMatchObject({ status: "error", error: { code: "team_gone" } })
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)

it.scoped("gives out no slot while it stops", () =>
  Effect.gen(function* () {
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
      yield* until(Effect.map(waiting(busy), (messages) => messages === 1))
      yield* Scope.close(first, Exit.void)
      expect((yield* (yield* Repo).inFlight).length).toBe(2)
      expect(yield* waiting(busy)).toBe(1)
    }).pipe(Effect.provide(running), Effect.provide(kept))
  })
)

it.scoped("starts again after a failure of its own, and sends what it had accepted", () => {
  let broken = true
  const failing = Layer.map(RepoMemory.layer, (context) => {
    const store = Context.get(context, LaneStore)
    const inFlight = Effect.suspend(() => (broken ? Effect.dieMessage("broken") : store.inFlight))
    return Context.add(context, LaneStore, { ...store, inFlight })
  })
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const id = yield* (yield* makeWebhook(team)).submit("work")
    yield* TestClock.adjust("10 seconds")
    expect(yield* statusOf(id)).toBe("queued")
    broken = false
    yield* TestClock.adjust("10 seconds")
    yield* until(Effect.map(statusOf(id), (status) => status === "success"))
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(failing, BusMemory.layer)))))
})

it.scoped("stores when each run got its slots, also when their commit has to wait for another", () => {
  const admissions: Array<Parameters<typeof LaneStore.Service.admit>[0]> = []
  const gate = Effect.unsafeMakeLatch(false)
  const slow = Layer.map(RepoMemory.layer, (context) => {
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
    yield* TestClock.adjust("1 second")
    yield* teams.resume(second)
    yield* TestClock.adjust("1 second")
    yield* gate.open
    yield* until(Effect.sync(() => admissions.length === 2))
    expect(admissions.map((runs) => runs.map(({ at }) => DateTime.toEpochMillis(at)))).toEqual([[0], [1_000]])
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.merge(slow, BusMemory.layer)))))
})

/** The ports of servers that come and go: a broker that outlives them, whose replies reach each 2 seconds after its start. */
const portsThatOutlive = Layer.build(
  Layer.merge(
    RepoMemory.layer,
    Layer.map(BusMemory.layer, (context) => {
      const bus = Context.get(context, Bus)
      const consume: typeof bus.consume = (...given) =>
        Effect.forkScoped(Effect.delay(bus.consume(...given), "2 seconds"))
      return Context.add(context, Bus, { ...bus, durable: true, consume })
    })
  )
)

it.scoped("records answers that came while no server ran before the clock counts", () =>
  Effect.gen(function* () {
    const kept = yield* portsThatOutlive
    const start = (scope: Scope.Scope) =>
      Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope)
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
    yield* TestClock.adjust("1 minute")
    yield* start(yield* Effect.scope)
    yield* TestClock.adjust("5 seconds")
    expect(yield* Effect.provide(statusOf(id), kept)).toBe("success")
  })
)

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
    yield* Effect.fork((yield* makeWebhook(team, { timeout_seconds: 10 })).ask("work"))
    const { prompt } = yield* leader.next
    return { id: prompt.run_id, leader }
  }).pipe(Effect.provide(running), Effect.provide(kept))
  yield* Scope.close(first, Exit.void)
  yield* TestClock.adjust("1 minute")
  const status = Effect.provide(statusOf(id), kept)
  expect(yield* status).toBe("queued")
  yield* start(yield* Effect.scope, () => Effect.void)
  return { leader, status, end: Effect.zipRight(until(Effect.map(status, isFinal)), status) }
})

it.scoped("records the answer to a waited run that was not known to be sent before its deadline counts", () =>
  Effect.gen(function* () {
    const { leader, end } = yield* restartAfterDeadline
    yield* leader.answer("in time")
    yield* TestClock.adjust("5 seconds")
    expect(yield* end).toBe("success")
    expect(yield* leader.idle).toBe(true)
  })
)

it.scoped("times a waited run out that was not known to be sent, once its answer has had time to come", () =>
  Effect.gen(function* () {
    const { leader, status, end } = yield* restartAfterDeadline
    for (let seconds = 0; seconds < 9; seconds++) yield* TestClock.adjust("1 second")
    expect(yield* status).toBe("queued")
    for (let seconds = 0; seconds < 2; seconds++) yield* TestClock.adjust("1 second")
    expect(yield* end).toBe("timeout")
    expect(yield* leader.idle).toBe(true)
  })
)

interface NotAnswered {
  /** Whether the acceptance is committed. `later`: when the test completes `mayCommit`. */
  readonly commits: boolean | "later"
  readonly mayCommit?: Deferred.Deferred<void>
  /** The database was not even given the statement, and has no next term either. */
  readonly not_done?: true
  readonly maxConcurrent?: number
}

/** The ports in memory, with a database that does not answer the first acceptance. */
const silentOnce = ({ commits, maxConcurrent = 1, mayCommit, not_done }: NotAnswered) => {
  let silent = true
  const rows = Layer.map(RepoMemory.layer, (context) => {
    const store = Context.get(context, RunStore)
    const lease = Context.get(context, LeaseStore)
    const lost = new Unavailable({ what: "database", detail: "no answer", ...(not_done && { not_done }) })
    const accept: typeof store.accept = (...args) => {
      if (!silent) return store.accept(...args)
      silent = false
      const committed = store.accept(...args)
      if (commits === "later") {
        return Effect.zipRight(Effect.forkDaemon(Effect.zipRight(Deferred.await(mayCommit!), committed)), lost)
      }
      return Effect.zipRight(commits ? committed : Effect.void, lost)
    }
    return context.pipe(
      Context.add(RunStore, { ...store, accept }),
      Context.add(LeaseStore, { ...lease, ...(not_done && { nextTerm: () => Effect.fail(lost) }) })
    )
  })
  return engine({ maxConcurrent }).pipe(Layer.provideMerge(Layer.merge(rows, BusMemory.layer)))
}

it.scoped("sends a run that was admitted although the database did not say so, and keeps its slot for it", () =>
  Effect.gen(function* () {
    const [team, other] = [yield* makeTeam("deploy"), yield* makeTeam("other")]
    const leader = yield* lead(team)
    yield* echo(other)
    expect((yield* Effect.flip((yield* makeWebhook(team)).submit("unknown")))._tag).toBe("Unavailable")
    const behind = yield* (yield* makeWebhook(other)).submit("waits for the only slot")
    expect((yield* leader.next).text).toBe("unknown")
    expect(yield* statusOf(behind)).toBe("queued")
    yield* leader.answer("done")
    yield* until(Effect.map(statusOf(behind), (status) => status === "success"))
  }).pipe(Effect.provide(silentOnce({ commits: true })))
)

it.scoped("sends nothing past a run that was admitted although the database did not say so", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    expect((yield* Effect.flip(webhook.submit("unknown")))._tag).toBe("Unavailable")
    yield* webhook.submit("behind")
    for (const text of ["unknown", "behind"]) {
      expect((yield* leader.next).text).toBe(text)
      yield* leader.answer("done")
    }
  }).pipe(Effect.provide(silentOnce({ commits: true, maxConcurrent: 4 })))
)

it.scoped("asks at once what became of an acceptance without an answer, and goes on when it was not stored", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    expect((yield* Effect.flip(webhook.submit("lost")))._tag).toBe("Unavailable")
    expect(yield* webhook.ask("behind")).toMatchObject({ status: "success" })
  }).pipe(Effect.provide(silentOnce({ commits: false })))
)

it.scoped("sends a run that is stored after its caller was refused, and never more than the slots", () =>
  Effect.gen(function* () {
    const mayCommit = yield* Deferred.make<void>()
    yield* Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const leader = yield* lead(team)
      const webhook = yield* makeWebhook(team)
      expect((yield* Effect.flip(webhook.submit("late")))._tag).toBe("Unavailable")
      yield* webhook.submit("before it")
      expect((yield* leader.next).text).toBe("before it")
      yield* Deferred.succeed(mayCommit, undefined)
      yield* TestClock.adjust("2 seconds")
      expect(yield* waiting(team)).toBe(0)
      yield* leader.answer("done")
      expect((yield* leader.next).text).toBe("late")
    }).pipe(Effect.provide(silentOnce({ commits: "later", mayCommit })))
  })
)

it.scoped("goes on with a lane without asking when the database certainly did not store the run", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    expect((yield* Effect.flip(webhook.submit("refused")))._tag).toBe("Unavailable")
    expect(yield* webhook.ask("behind")).toMatchObject({ status: "success" })
  }).pipe(Effect.provide(silentOnce({ commits: false, not_done: true })))
)

it.scoped("triggers a webhook as it is now, also when it was read before its last change", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const repo = yield* Repo
    const before = yield* repo.webhookRow(webhook.id)
    const trigger = yield* Trigger
    const submit = (name: string) =>
      Effect.flatMap(DateTime.now, (received_at) =>
        trigger.trigger(before, { variables: { [name]: "hello" }, received_at, wait: true })
      )

    yield* repo.updateWebhook(webhook.id, { prompt_template: "New: {{text}}", updated_at: yield* DateTime.now })
    yield* submit("text")
    yield* repo.updateWebhook(webhook.id, { prompt_template: "Other: {{other}}", updated_at: yield* DateTime.now })
    yield* submit("other")
    expect(seen).toEqual(["New: hello", "Other: hello"])
    yield* repo.updateWebhook(webhook.id, { enabled: false, updated_at: yield* DateTime.now })
    expect((yield* Effect.flip(submit("other")))._tag).toBe("NotFound")
    expect((yield* Effect.flip(submit("missing")))._tag).toBe("NotFound")
  }).pipe(Effect.provide(engineInMemory()))
)
