import { Deferred, Effect, Fiber, Layer } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { Unavailable } from "../../../src/domain/Errors.ts"
import type { RunId } from "../../../src/domain/Id.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import * as Leader from "../../../src/leader/Leader.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import {
  echo,
  engine,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onEngineWith,
  ports,
  sendMessage,
  until
} from "../Scenario.ts"

const cancel = (id: RunId) => Effect.flatMap(Cancellation, ({ cancel }) => cancel(id))
const runOf = (id: RunId) => Effect.flatMap(Repo, (repo) => repo.run(id))

onEngineWith({ maxConcurrent: 1 })(
  "a sent run has ended for its caller, and holds its slot until the leader, which is asked to stop, is done",
  function* () {
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
  }
)

it.effect(
  "a run that is cancelled while the broker may or may not have its prompt holds its team for 30 seconds",
  function* () {
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
  }
)

onEngine(
  "the leader library interrupts its handler, and goes on with the next prompt that is not cancelled",
  function* () {
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
  }
)
