import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Layer, Option, TestClock } from "effect"
import { makeRunId } from "../../src/domain/Id.ts"
import { TeamName } from "../../src/domain/Team.ts"
import * as Retention from "../../src/engine/Retention.ts"
import * as RepoMemory from "../../src/repo/memory/RepoMemory.ts"
import { Repo } from "../../src/repo/Repo.ts"

const team = TeamName.make("ops")
const now = Effect.map(TestClock.currentTimeMillis, (millis) => new Date(millis))

const accept = Effect.gen(function* () {
  const run_id = yield* makeRunId
  const run = { run_id, source: "chat", team, mode: "async", prompt: "hello", variables: {}, timeout_ms: 1000 } as const
  yield* (yield* Repo).accept({ ...run, accepted_at: yield* now }, { max_queued: 10 })
  return run_id
})

const world = (retention: Option.Option<Duration.Duration>) =>
  Retention.layer(retention).pipe(Layer.provideMerge(RepoMemory.layer))

describe("runs past their retention", () => {
  const story = Effect.gen(function* () {
    const repo = yield* Repo
    yield* repo.createTeam(team, yield* now)
    const live = yield* accept
    const ended = yield* accept
    yield* repo.end(ended, { status: "success", response: "hi" }, yield* now)
    const left = Effect.filter([live, ended], (id) => Effect.map(Effect.option(repo.run(id)), Option.isSome))
    yield* TestClock.adjust("9 minutes")
    const before = yield* left
    yield* TestClock.adjust("3 minutes")
    return { live, ended, before, after: yield* left }
  })

  it.effect("are removed once they are too old, and live ones never", () =>
    Effect.gen(function* () {
      const { after, before, ended, live } = yield* story
      expect(before).toEqual([live, ended])
      expect(after).toEqual([live])
    }).pipe(Effect.provide(world(Option.some(Duration.minutes(10)))))
  )

  it.effect("stay when there is no retention", () =>
    Effect.gen(function* () {
      const { after, ended, live } = yield* story
      expect(after).toEqual([live, ended])
    }).pipe(Effect.provide(world(Option.none())))
  )
})
