/** `coalesce`: triggers with one key within a window are one run. */
import { expect, it } from "@effect/vitest"
import { Clock, DateTime, Effect, Exit, Layer, Scope, TestClock } from "effect"
import type { RunId } from "../../src/domain/Id.ts"
import { Repo } from "../../src/repo/Repo.ts"
import { echo, engine, lead, makeTeam, makeWebhook, ports, sendMessage, until } from "./Scenario.ts"

const coalesce = { key: "text.branch", within: 30 }

it.scoped("sends one run at the window's end, with what came last, and keeps the lane's order through a restart", () =>
  Effect.gen(function* () {
    const kept = yield* Layer.build(ports)
    const start = (scope: Scope.Scope) =>
      Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope)
    const first = yield* Scope.make()
    const { ids, leader, webhook } = yield* Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const leader = yield* lead(team)
      const webhook = yield* makeWebhook(team, { coalesce })
      const ids: Array<RunId> = []
      for (const commit of [1, 2, 3]) ids.push(yield* webhook.submit({ branch: "main", commit }))
      yield* sendMessage(team, "behind")
      ids.push(yield* webhook.submit({ branch: "main", commit: 4 }))
      return { ids, leader, webhook }
    }).pipe(Effect.provide(yield* start(first)), Effect.provide(kept))
    expect(new Set(ids).size).toBe(1)
    yield* Scope.close(first, Exit.void)

    const again = yield* start(yield* Effect.scope)
    yield* Effect.gen(function* () {
      yield* TestClock.adjust("15 seconds")
      expect(yield* webhook.submit({ branch: "main", commit: 5 })).toBe(ids[0])
      expect(yield* leader.idle).toBe(true)
      yield* TestClock.adjust("17 seconds")
      const { prompt } = yield* leader.next
      expect([prompt.run_id, prompt.prompt]).toEqual([ids[0], '{"branch":"main","commit":5}'])
      expect(prompt.values).toEqual({ text: '{"branch":"main","commit":5}' })
      yield* leader.answer("done")
      expect((yield* leader.next).text).toBe("behind")
      yield* leader.answer("done")
      // The window is over: the next one is another run.
      expect(yield* webhook.submit({ branch: "main", commit: 6 })).not.toBe(ids[0])
    }).pipe(Effect.provide(again), Effect.provide(kept))
  })
)

it.scoped("leaves a trigger alone that has nothing at the key, and refuses one that waits", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const webhook = yield* makeWebhook(team, { coalesce })
    expect(yield* Effect.flip(webhook.ask({ branch: "main" }))).toMatchObject({
      _tag: "InvalidParameter",
      name: "wait"
    })
    const ids = yield* Effect.forEach([{}, { branch: null }, "plain"], (text) => webhook.submit(text))
    expect(new Set(ids).size).toBe(3)
    yield* until(Effect.sync(() => seen.length === 3))
    const repo = yield* Repo
    yield* repo.updateWebhook(webhook.id, {
      coalesce: null,
      updated_at: DateTime.unsafeMake(yield* Clock.currentTimeMillis)
    })
    const alone = [yield* webhook.submit({ branch: "main" }), yield* webhook.submit({ branch: "main" })]
    expect(new Set(alone).size).toBe(2)
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(ports))))
)
