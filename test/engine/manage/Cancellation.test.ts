import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import * as Leader from "../../../src/leader/Leader.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import {
  echo,
  engine,
  engineInMemory,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  ports,
  sendMessage,
  until
} from "../Scenario.ts"

const cancel = (id: RunId) => Effect.flatMap(Cancellation, ({ cancel }) => cancel(id))
const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))

it.effect("a queued run is never sent, and its waiting caller hears of it", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team)
    const first = yield* webhook.submit("first")
    yield* leader.next
    const asking = yield* Effect.forkChild(webhook.ask("second"))
    const repo = yield* Repo
    const waiting = Effect.map(repo.runs({ team, limit: 9 }), ({ data }) => data.find(({ run_id }) => run_id !== first))
    yield* until(Effect.map(waiting, (run) => run !== undefined))
    const queued = yield* waiting
    const third = yield* webhook.submit("third")

    const run = yield* cancel(queued!.run_id)
    expect(run.status).toBe("cancelled")
    expect(yield* Fiber.join(asking)).toMatchObject({ run_id: queued!.run_id, status: "cancelled" })
    expect(yield* cancel(queued!.run_id)).toEqual(run)
    yield* leader.answer("done")
    expect((yield* leader.next).prompt.run_id).toBe(third)
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)

it.effect(
  "a sent run has ended for its caller, and holds its slot until the leader, which is asked to stop, is done",
  () =>
    Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const leader = yield* lead(team)
      const webhook = yield* makeWebhook(team)
      const asking = yield* Effect.forkChild(webhook.ask("first"))
      const { cancelled, prompt } = yield* leader.next
      const second = yield* webhook.submit("second")

      yield* cancel(prompt.run_id)
      expect((yield* Fiber.join(asking)).status).toBe("cancelled")
      yield* Deferred.await(cancelled)
      yield* advance("5 seconds")
      expect(yield* inFlight).toBe(1)
      expect((yield* runOf(second)).sent_at).toBeUndefined()

      yield* leader.answer("too late")
      expect((yield* leader.next).prompt.run_id).toBe(second)
      const run = yield* runOf(prompt.run_id)
      expect(run).toMatchObject({ status: "cancelled", conversation: { response: "too late" } })
      expect(run.released_at).toBeDefined()
    }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)

it.effect("a run that is cancelled while the broker may or may not have its prompt holds its team for 30 seconds", () =>
  Effect.gen(function* () {
    const isRefused = yield* Deferred.make<void>()
    let isAway = true
    const away = Effect.andThen(
      Deferred.succeed(isRefused, undefined),
      Effect.fail(new Unavailable({ what: "broker", detail: "away for the test" }))
    )
    const bus = Layer.effect(
      Bus,
      Effect.map(Bus, (bus) => ({
        ...bus,
        publish: (...given: Parameters<typeof bus.publish>) =>
          Effect.suspend(() => (isAway ? away : bus.publish(...given)))
      }))
    )
    yield* Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      yield* echo(team)
      const webhook = yield* makeWebhook(team)
      const id = yield* webhook.submit("hello")
      yield* Deferred.await(isRefused)
      yield* cancel(id)
      isAway = false
      const next = yield* webhook.submit("next")
      yield* advance("28 seconds")
      expect(yield* inFlight).toBe(1)
      yield* advance("4 seconds")
      yield* until(Effect.map(runOf(next), ({ status }) => status === "success"))
      expect((yield* runOf(id)).released_at).toBeDefined()
    }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(Layer.provideMerge(bus, ports)))))
  })
)

it.effect("a leader that does not stop holds the slot for 30 seconds", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 60 })
    const first = yield* webhook.submit("first")
    yield* leader.next
    yield* until(Effect.map(runOf(first), ({ sent_at }) => sent_at !== undefined))
    yield* advance("10 seconds")
    yield* cancel(first)
    yield* advance("28 seconds")
    expect(yield* inFlight).toBe(1)
    yield* advance("4 seconds")
    yield* until(Effect.map(inFlight, (total) => total === 0))
  }).pipe(Effect.provide(engineInMemory()))
)

it.effect("the leader library interrupts its handler, and goes on with the next prompt that is not cancelled", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const begun: Array<string> = []
    const interrupted = yield* Deferred.make<string>()
    yield* Leader.start({
      team,
      handler: ({ prompt }) => {
        begun.push(prompt)
        return Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, prompt))
      }
    })
    const webhook = yield* makeWebhook(team)
    const first = yield* webhook.submit("first")
    const second = yield* webhook.submit("second")
    const message = yield* sendMessage(team, "third")
    yield* until(Effect.sync(() => begun.length === 1))
    yield* cancel(second)
    yield* cancel(first)
    expect(yield* Deferred.await(interrupted)).toBe("first")
    yield* until(Effect.sync(() => begun.length === 2))
    expect(begun).toEqual(["first", "third"])
    yield* cancel(message)
    yield* until(Effect.map(inFlight, (total) => total === 0))
  }).pipe(Effect.provide(engineInMemory()))
)

it.effect("a run that has ended in another way stays as it is", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const { run_id } = yield* webhook.ask("hello")
    expect(yield* Effect.flip(cancel(run_id))).toMatchObject({ _tag: "RunEnded", run_id, status: "success" })
    expect((yield* runOf(run_id)).status).toBe("success")
  }).pipe(Effect.provide(engineInMemory()))
)

it.effect("all that is queued for a webhook or a team is cancelled, and nothing else", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const one = yield* makeWebhook(team)
    const two = yield* makeWebhook(team)
    const sent = yield* one.submit("sent")
    yield* leader.next
    for (let i = 0; i < 3; i++) yield* one.submit("one")
    const others = [yield* two.submit("two"), yield* two.submit("two")]
    const cancellation = yield* Cancellation
    expect(yield* cancellation.cancelQueuedOfWebhook(one.id)).toEqual({ cancelled: 3, retries: 0 })
    expect(yield* cancellation.cancelQueuedOfTeam(team)).toEqual({ cancelled: 2, retries: 0 })
    for (const id of others) expect((yield* runOf(id)).status).toBe("cancelled")
    yield* leader.answer("done")
    yield* until(Effect.map(runOf(sent), ({ status }) => status === "success"))
    expect((yield* Effect.flip(cancellation.cancelQueuedOfTeam("nobody")))._tag).toBe("NotFound")
    expect((yield* Effect.flip(cancellation.cancelQueuedOfWebhook("nothing")))._tag).toBe("NotFound")
  }).pipe(Effect.provide(engineInMemory({ maxConcurrent: 1 })))
)
