import { expect } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { Bus } from "../../../src/bus/Bus.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { echo, inFlight, lead, makeTeam, makeWebhook, onEngineWith, statusOf, until } from "../Scenario.ts"

/** A run that waits for the only slot, while its team's queue goes away. */
const queueGoesAway = Effect.gen(function* () {
  const [busy, team] = [yield* makeTeam("busy"), yield* makeTeam("deploy")]
  const elsewhere = yield* lead(busy)
  yield* (yield* makeWebhook(busy, { timeout_seconds: 1000 })).submit("holds the only slot")
  yield* elsewhere.next
  const working = yield* Scope.make()
  yield* Scope.provide(echo(team), working)
  const id = yield* (yield* makeWebhook(team, { timeout_seconds: 60 })).submit("work")
  yield* Scope.close(working, Exit.void)
  yield* (yield* Bus).removeQueue(team)
  yield* elsewhere.answer("done")
  return { team, id }
})

onEngineWith({ maxConcurrent: 1 })("sends a run whose team's queue was missing once the queue is back", function* () {
  const { team, id } = yield* queueGoesAway
  yield* advance("50 seconds")
  expect(yield* statusOf(id)).toBe("queued")
  yield* echo(team)
  yield* advance("1 second")
  yield* until(Effect.map(statusOf(id), (status) => status === "success"))
})

onEngineWith({ maxConcurrent: 1 })(
  "ends a run as team_gone when its team's queue stays away for the run's timeout",
  function* () {
    const { id } = yield* queueGoesAway
    yield* advance("59 seconds")
    expect(yield* statusOf(id)).toBe("queued")
    yield* advance("1 second")
    yield* until(Effect.map(inFlight, (total) => total === 0))
    const repo = yield* Repo
    expect(yield* repo.run(id)).toMatchObject({ status: "error", error: { code: "team_gone" } })
  }
)
