import { DateTime, Effect, Layer } from "effect"
import { Limiter } from "../../../src/engine/step/Limiter.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
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
  until
} from "../Scenario.ts"

onEngineWith({ maxConcurrent: 1 })("lets the run behind a head that has ended pass immediately", function* () {
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
})

onEngine("delays no team when another one never answers, however much is queued for it", function* () {
  const stuck = yield* makeTeam("stuck")
  yield* lead(stuck)
  const webhook = yield* makeWebhook(stuck)
  for (let n = 0; n < 1_000; n++) yield* webhook.submit(`stuck ${n}`)
  yield* until(Effect.map(inFlight, (total) => total === 1))
  for (let n = 0; n < 19; n++) {
    const team = yield* makeTeam(`team-${n}`)
    yield* echo(team)
    expect((yield* (yield* makeWebhook(team)).ask("hello")).status).toBe("success")
  }
  expect(yield* inFlight).toBe(1)
})

onEngine("lets a twentieth team work while nineteen others never answer", function* () {
  for (let n = 0; n < 19; n++) {
    const stuck = yield* makeTeam(`stuck-${n}`)
    yield* lead(stuck)
    const webhook = yield* makeWebhook(stuck)
    yield* Effect.replicateEffect(webhook.submit("stuck"), 10)
  }
  yield* until(Effect.map(inFlight, (total) => total === 19))
  const team = yield* makeTeam("twentieth")
  yield* echo(team)
  const webhook = yield* makeWebhook(team)
  const runs = yield* Effect.all(Effect.replicate(webhook.ask("hello"), 50), { concurrency: "unbounded" })
  expect(runs.map(({ status }) => status)).toEqual(runs.map(() => "success"))
})

onEngineWith({ maxConcurrent: 1 })("applies a raised limit to runs that wait already", function* () {
  const [busy, team] = [yield* makeTeam("busy"), yield* makeTeam("deploy")]
  const elsewhere = yield* lead(busy)
  const leader = yield* lead(team)
  yield* (yield* makeWebhook(busy)).submit("holds the only slot")
  yield* elsewhere.next
  const webhook = yield* makeWebhook(team)
  yield* webhook.submit("waits")
  yield* advance("1 second")
  expect([yield* leader.idle, yield* inFlight]).toEqual([true, 1])
  const repo = yield* Repo
  yield* repo.updateWebhook(webhook.id, { max_concurrent: 2, updated_at: yield* DateTime.now })
  yield* advance("1 second")
  expect((yield* leader.next).text).toBe("waits")
})

it.effect("asks the host's own limiter at each step", () => {
  let total = 0
  const limiter = Layer.sync(Limiter, () => ({ limits: () => ({ total, webhooks: new Map() }) }))
  return Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    yield* (yield* makeWebhook(team)).submit("waits")
    yield* advance("2 seconds")
    expect([yield* leader.idle, yield* inFlight]).toEqual([true, 0])
    total = 1
    yield* advance("1 second")
    expect((yield* leader.next).text).toBe("waits")
  }).pipe(Effect.provide(engineInMemory({}, limiter)))
})
