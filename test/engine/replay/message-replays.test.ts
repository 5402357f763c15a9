import { expect } from "@effect/vitest"
import { DateTime, Effect, Result } from "effect"
import { Cancellation } from "../../../src/engine/manage/Cancellation.ts"
import { Replay } from "../../../src/engine/replay/Replay.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { echo, makeTeam, makeWebhook, onEngine, sendMessage, until } from "../Scenario.ts"
import { flaky, fromTemplate, key, replay, runOf } from "./ReplaySteps.ts"

onEngine("repeats a team's failed messages among its webhooks' failed runs, in the order of all of them", function* () {
  const team = yield* makeTeam("deploy")
  const leader = yield* flaky(team)
  const webhook = yield* makeWebhook(team)
  const texts = Array.from({ length: 60 }, (_, n) => `${n}`)
  const ids = yield* Effect.forEach(texts, (text, n) => (n % 3 === 0 ? sendMessage(team, text) : webhook.submit(text)))
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
})

onEngine("a message whose team has no leader, is paused, or was deleted", function* () {
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
})
