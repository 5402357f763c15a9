import { expect, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Result } from "effect"
import { Replay } from "../../../src/engine/accept/Replay.ts"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, engine, engineInMemory, makeTeam, makeWebhook, ports, sendMessage, until } from "../Scenario.ts"
import { flaky, fromTemplate, key, replay, replaysOf, runOf } from "./ReplaySteps.ts"

it.effect("repeats a message as a new one to its team, with the same or another text, and links both", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const message = yield* sendMessage(team, "hello")
    const again = yield* replay(message)
    const other = yield* replay(message, { prompt: "template", message: "bye" })
    yield* until(Effect.map(runOf(other), ({ status }) => status === "success"))
    expect(seen).toEqual(["hello", "hello", "bye"])
    expect(yield* runOf(again)).toMatchObject({ source: "chat", team, replay_of: message, variables: {} })
    expect((yield* replaysOf(message)).map((run) => run.run_id)).toEqual([other, again])

    const replays = yield* Replay
    const waited = yield* replays.replayAndWait(message, { prompt: "same" }, yield* DateTime.now)
    expect(waited).toMatchObject({ _tag: "Ended", run: { status: "success", mode: "wait", replay_of: message } })
  }).pipe(Effect.provide(engineInMemory()))
)

it.effect("makes one message of a double click, also on two replicas, and another one of the next click", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    yield* echo(team)
    const message = yield* sendMessage(team, "hello")
    const click = { ...fromTemplate, ...key("click") }
    const other = replay(message, click).pipe(Effect.provide(Layer.fresh(engine())))
    const ids = yield* Effect.all([replay(message, click), replay(message, click), other], { concurrency: "unbounded" })
    expect(new Set(ids).size).toBe(1)
    expect(yield* replay(message, { ...fromTemplate, ...key("next") })).not.toBe(ids[0])
    expect(
      (yield* Effect.flip(
        replay(message, { ...click, idempotency: { key: "click", request_hash: new Uint8Array(1) } })
      ))._tag
    ).toBe("IdempotencyKeyReused")
    expect(yield* replaysOf(message)).toHaveLength(2)
  }).pipe(Effect.provide(engine()), Effect.provide(ports))
)

it.effect("repeats a team's failed messages among its webhooks' failed runs, in the order of all of them", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const leader = yield* flaky(team)
    const webhook = yield* makeWebhook(team)
    const texts = Array.from({ length: 60 }, (_, n) => `${n}`)
    const ids = yield* Effect.forEach(texts, (text, n) =>
      n % 3 === 0 ? sendMessage(team, text) : webhook.submit(text)
    )
    yield* until(Effect.map(runOf(ids.at(-1)!), ({ status }) => status === "error"))
    leader.failing = false
    const replays = yield* Replay
    const { ids: found } = yield* replays.matching(
      { of: { team }, statuses: ["error"] },
      { limit: 1_000, ...key("click") }
    )
    expect(found).toEqual(ids)
    const results = yield* replays.replayRuns(found, { ...fromTemplate, ...key("click") })
    const made = results.map(({ result }) => Result.getOrThrow(result))
    yield* until(Effect.map(runOf(made.at(-1)!), ({ status }) => status === "success"))
    expect(leader.seen).toEqual([...texts, ...texts])
    expect(yield* replays.matching({ of: { team }, statuses: ["error"] }, { limit: 9 })).toEqual({
      ids: [],
      more: false
    })
  }).pipe(Effect.provide(engineInMemory()))
)

it.effect("a message whose team has no leader, is paused, or was deleted", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const message = yield* Effect.scoped(
      Effect.gen(function* () {
        yield* echo(team)
        const message = yield* sendMessage(team, "hello")
        yield* until(Effect.map(runOf(message), ({ status }) => status === "success"))
        return message
      })
    )
    const refusal = Effect.map(Effect.flip(replay(message)), (error) => error._tag)
    expect(yield* refusal).toBe("TeamNotRunning")
    const repo = yield* Repo
    yield* repo.pauseTeam(team, yield* DateTime.now)
    const waiting = yield* replay(message)
    expect((yield* runOf(waiting)).status).toBe("queued")
    yield* Effect.flatMap(Cancellation, ({ cancel }) => cancel(waiting))
    yield* repo.deleteTeam(team)
    expect(yield* refusal).toBe("NotFound")
  }).pipe(Effect.provide(engineInMemory()))
)
