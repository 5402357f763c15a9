import { DateTime, Duration, Effect, Fiber } from "effect"
import { Checkpoints } from "../../src/engine/Checkpoints.ts"
import { Repo } from "../../src/repo/Repo.ts"
import { advance } from "../../src/testing.ts"
import { expect, it } from "../support/It.ts"
import {
  echo,
  engineInMemory,
  inFlight,
  lead,
  makeTeam,
  makeWebhook,
  onEngine,
  onEngineWith,
  sendMessage,
  statusOf,
  until
} from "./Scenario.ts"

onEngine("gives a waiting caller its answer", function* () {
  const team = yield* makeTeam("deploy")
  yield* echo(team)
  const webhook = yield* makeWebhook(team)
  const run = yield* webhook.ask("hello")
  expect(run).toMatchObject({ status: "success", conversation: { prompt: "hello", response: "echo: hello" } })
  yield* until(Effect.map(inFlight, (total) => total === 0))
})

onEngine("keeps a start that was reported at the time of the sending apart from none", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* lead(team)
  const webhook = yield* makeWebhook(team)
  const work = Effect.fnUntraced(function* (isReported: boolean) {
    const asking = yield* Effect.forkChild(webhook.ask("hello"))
    const { reply } = yield* leader.next
    if (isReported) yield* reply({ _tag: "Started" })
    yield* leader.answer("done")
    const { sent_at, started_at } = yield* Fiber.join(asking)
    return Duration.toMillis(DateTime.distance(sent_at!, started_at!))
  })
  expect(yield* work(true)).toBe(1)
  expect(yield* work(false)).toBe(0)
})

it.effect("waits for a run whose acceptance takes long", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const asking = yield* Effect.forkChild(webhook.ask("hello"))
    yield* advance("5 seconds")
    expect((yield* Fiber.join(asking)).status).toBe("success")
  }).pipe(
    Effect.provide(engineInMemory()),
    Effect.provideService(Checkpoints, (point) => (point === "accept" ? Effect.sleep("5 seconds") : Effect.void))
  )
)

onEngineWith({ maxConcurrent: 2 })(
  "sends a team its prompts in the order of acceptance, across webhooks and chat messages",
  function* () {
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
  }
)

onEngine(
  "finishes accepted runs of a disabled webhook, and drops those of a deleted one with their slots",
  function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const disabled = yield* makeWebhook(team)
    const deleted = yield* makeWebhook(team)
    const kept = yield* disabled.submit("kept")
    yield* leader.next
    const repo = yield* Repo
    yield* repo.updateWebhook(disabled.id, { enabled: false, updated_at: yield* DateTime.now })
    expect((yield* Effect.flip(disabled.submit("refused")))._tag).toBe("NotFound")
    yield* leader.answer("done")
    yield* until(Effect.map(statusOf(kept), (status) => status === "success"))

    const asking = yield* Effect.forkChild(Effect.flip(deleted.ask("dropped")))
    yield* leader.next
    yield* repo.deleteWebhook(deleted.id)
    expect(yield* inFlight).toBe(0)
    yield* advance("1 second")
    expect((yield* Fiber.join(asking))._tag).toBe("NotFound")
    // Its answer belongs to no run, and is dropped.
    yield* leader.answer("to no run")
    yield* sendMessage(team, "next")
    expect((yield* leader.next).text).toBe("next")
  }
)
