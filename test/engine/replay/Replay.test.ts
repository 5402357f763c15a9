import { DateTime, Effect, Fiber, Layer, Result } from "effect"
import type { RunId } from "../../../src/domain/Id.ts"
import type { TeamName } from "../../../src/domain/Team.ts"
import { Replay } from "../../../src/engine/replay/Replay.ts"
import type { ReplayRequest } from "../../../src/engine/replay/ReplayCandidates.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { echo, engine, lead, makeTeam, makeWebhook, onEngine, ports, sendMessage, until } from "../Scenario.ts"
import { edit, flaky, fromTemplate, key, replay, replaysOf, runOf } from "./ReplaySteps.ts"

onEngine(
  "repeats a run with the same values, the template of now or the prompt as it was, or with other values",
  function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const { run_id } = yield* webhook.ask("api")
    yield* edit(webhook.id, { prompt_template: "Deploy {{text}}" })

    const now = yield* replay(run_id)
    const same = yield* replay(run_id, { prompt: "same" })
    const other = yield* replay(run_id, { prompt: "template", variables: { text: "web" } })
    yield* until(Effect.sync(() => seen.length === 4))
    expect(seen).toEqual(["api", "Deploy api", "api", "Deploy web"])
    for (const id of [now, same])
      expect(yield* runOf(id)).toMatchObject({ replay_of: run_id, variables: { text: "api" } })
    expect((yield* runOf(other)).variables).toEqual({ text: "web" })
    expect((yield* replaysOf(run_id)).map((run) => run.run_id)).toEqual([other, same, now])
    expect(yield* replaysOf(other)).toEqual([])
  }
)

it.effect("makes one run of a double click, also on two replicas, and another one of the next click", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const webhook = yield* makeWebhook(team)
    const { run_id } = yield* webhook.ask("api")
    const click = { ...fromTemplate, ...key("click") }
    const other = Effect.flatMap(Replay, (replays) => replays.replay(run_id, click)).pipe(
      Effect.provide(Layer.fresh(engine()))
    )
    const ids = yield* Effect.all([replay(run_id, click), replay(run_id, click), other], { concurrency: "unbounded" })
    expect(new Set(ids).size).toBe(1)
    expect(yield* replay(run_id, { ...fromTemplate, ...key("next") })).not.toBe(ids[0])
    // A caller of the webhook may use the same key.
    expect(yield* webhook.submit("api", { key: "click" })).not.toBe(ids[0])
    expect(yield* replaysOf(run_id)).toHaveLength(2)
  }).pipe(Effect.provide(engine()), Effect.provide(ports))
)

onEngine(
  "a webhook that is switched off, gone, or was edited meanwhile; a team without a leader; a full queue; what does not fit",
  function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* Effect.scoped(
      Effect.gen(function* () {
        const leader = yield* lead(team)
        yield* leader.answer("done")
        const webhook = yield* makeWebhook(team, { max_queued: 1 })
        return { webhook, run: yield* webhook.ask("api") }
      })
    )
    const { webhook, run } = leader
    const refusal = (id: RunId, request?: ReplayRequest) => Effect.map(Effect.flip(replay(id, request)), (e) => e._tag)
    expect(yield* refusal(run.run_id)).toBe("TeamNotRunning")
    yield* edit(webhook.id, { when_team_stopped: "queue" })
    const waiting = yield* replay(run.run_id, { ...fromTemplate, ...key("one") })
    expect(yield* refusal(run.run_id)).toBe("TooManyQueued")
    expect(yield* replay(run.run_id, { ...fromTemplate, ...key("one") })).toBe(waiting)

    yield* edit(webhook.id, { enabled: false })
    expect(yield* refusal(run.run_id)).toBe("WebhookDisabled")
    yield* edit(webhook.id, { enabled: true, prompt_template: "{{other}}" })
    expect(yield* refusal(run.run_id)).toBe("MissingVariables")
    expect(yield* refusal(run.run_id, { prompt: "same" })).toBe("TooManyQueued")
    yield* (yield* Repo).deleteWebhook(webhook.id)
    expect(yield* refusal(run.run_id)).toBe("NotFound")

    const busy = yield* lead(team)
    const message = yield* sendMessage(team, "hello")
    yield* busy.next
    expect(yield* refusal(message, { ...fromTemplate, variables: {} })).toBe("Invalid")
    expect(yield* refusal(message, { ...fromTemplate, message: "x".repeat(300_000) })).toBe("PromptTooLarge")
  }
)

onEngine("a replay takes nothing of its webhook's rate", function* () {
  const team = yield* makeTeam("deploy")
  yield* echo(team)
  const webhook = yield* makeWebhook(team)
  yield* edit(webhook.id, { rate: "1/day" })
  const { run_id } = yield* webhook.ask("api")
  expect((yield* Effect.flip(webhook.submit("api")))._tag).toBe("RateLimited")
  yield* replay(run_id)
})

onEngine("repeats what failed, in its order, once; and what failed again, the next time", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* flaky(team)
  const webhook = yield* makeWebhook(team)
  const texts = Array.from({ length: 120 }, (_, n) => `${n}`)
  const first = yield* Effect.forEach(texts, (text) => webhook.submit(text))
  yield* until(Effect.map(runOf(first.at(-1)!), ({ status }) => status === "error"))

  const replays = yield* Replay
  const filter = { of: { webhook_id: webhook.id }, statuses: ["error"] } as const
  const all = (name: string) =>
    Effect.gen(function* () {
      const { ids } = yield* replays.matching(filter, { limit: 1_000, ...key(name) })
      const results = yield* replays.replayRuns(ids, { ...fromTemplate, ...key(name) })
      return results.map(({ result }) => Result.getOrThrow(result))
    })
  const clicks = yield* Effect.all([all("click"), all("click")], { concurrency: "unbounded" })
  expect(clicks[1]).toEqual(clicks[0])
  expect(leader.seen.slice(0, 120)).toEqual(texts)
  yield* until(Effect.map(runOf(clicks[0]!.at(-1)!), ({ status }) => status === "error"))
  expect(leader.seen.slice(120)).toEqual(texts)
  // The same click again, when all of them have failed again.
  expect(yield* all("click")).toEqual(clicks[0])

  leader.failing = false
  const last = yield* all("another click")
  expect(last).toHaveLength(120)
  yield* until(Effect.map(runOf(last.at(-1)!), ({ status }) => status === "success"))
  expect((yield* runOf(last[7]!)).replay_of).toBe(clicks[0]![7])
  expect((yield* replays.matching(filter, { limit: 1_000 })).ids).toEqual([])
  expect(leader.seen).toHaveLength(360)
})

onEngine(
  "what does not fit is refused from the first one on, and the same request takes the others later",
  function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* flaky(team)
    const webhook = yield* makeWebhook(team, { max_queued: 40, max_concurrent: 1, when_team_stopped: "queue" })
    const ids: Array<RunId> = []
    for (let n = 0; n < 60; n++) {
      ids.push(yield* webhook.submit(`${n}`))
      yield* until(Effect.map(runOf(ids[n]!), ({ status }) => status === "error"))
    }
    yield* edit(webhook.id, { team: yield* makeTeam("later") })
    const request = { ...fromTemplate, ...key("click") }
    const replays = yield* Replay
    const results = yield* replays.replayRuns(ids, request)
    expect(results.map(({ run_id }) => run_id)).toEqual(ids)
    expect(results.map(({ result }) => Result.isSuccess(result))).toEqual(ids.map((_, n) => n < 40))
    yield* advance("1 second")
    const seen = yield* echo("later" as TeamName)
    yield* advance("2 seconds")
    yield* until(Effect.sync(() => seen.length === 40))
    const rest = yield* replays.replayRuns(ids, request)
    expect(rest.slice(0, 40)).toEqual(results.slice(0, 40))
    yield* until(Effect.sync(() => seen.length === 60))
    expect(seen).toEqual(ids.map((_, n) => `${n}`))
    expect(leader.seen).toHaveLength(60)
  }
)

onEngine(
  "who waits for a replay has its timeout from then on, and is refused as it would be without waiting",
  function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* lead(team)
    const webhook = yield* makeWebhook(team, { timeout_seconds: 30 })
    const run_id = yield* webhook.submit("api")
    yield* leader.next
    yield* leader.answer("done")
    yield* until(Effect.map(runOf(run_id), ({ status }) => status === "success"))
    const replays = yield* Replay
    const wait = (id: RunId) =>
      Effect.flatMap(DateTime.now, (now) => replays.replayAndWait(id, { prompt: "same" }, now))
    const waiting = yield* Effect.forkChild(wait(run_id))
    yield* leader.next
    yield* edit(webhook.id, { enabled: false })
    yield* advance("31 seconds")
    const replayed = yield* Fiber.join(waiting)
    expect(replayed).toMatchObject({ _tag: "Ended", run: { status: "timeout", mode: "wait", replay_of: run_id } })
    expect((yield* Effect.flip(wait(run_id)))._tag).toBe("WebhookDisabled")
  }
)
