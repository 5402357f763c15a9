/** `coalesce`: triggers with one key within a window are one run. */

import { Clock, DateTime, Effect, Exit, Layer, Scope } from "effect"
import type { RunId } from "../../../src/domain/Id.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import { advance } from "../../../src/testing.ts"
import { expect, it } from "../../support/It.ts"
import { echo, engine, lead, makeTeam, makeWebhook, ports, sendMessage, until } from "../Scenario.ts"

const coalesce = { key: "text.branch", within: 30 }

it.effect(
  "sends one run at the window's end, with what came last, also after a restart, and meanwhile what others send",
  function* () {
    const kept = yield* Layer.build(ports)
    const start = (scope: Scope.Scope) =>
      Layer.buildWithScope(Layer.provide(engine(), Layer.succeedContext(kept)), scope)
    const first = yield* Scope.make()
    const { ids, leader, team, webhook } = yield* Effect.gen(function* () {
      const team = yield* makeTeam("deploy")
      const leader = yield* lead(team)
      const webhook = yield* makeWebhook(team, { coalesce })
      const ids: Array<RunId> = []
      for (const commit of [1, 2, 3]) ids.push(yield* webhook.submit({ branch: "main", commit }))
      yield* sendMessage(team, "meanwhile")
      expect((yield* leader.next).text).toBe("meanwhile")
      yield* leader.answer("done")
      ids.push(yield* webhook.submit({ branch: "main", commit: 4 }))
      return { ids, leader, team, webhook }
    }).pipe(Effect.provide(yield* start(first)), Effect.provide(kept))
    expect(new Set(ids).size).toBe(1)
    yield* Scope.close(first, Exit.void)

    const again = yield* start(yield* Effect.scope)
    yield* Effect.gen(function* () {
      yield* advance("15 seconds")
      expect(yield* webhook.submit({ branch: "main", commit: 5 })).toBe(ids[0])
      expect(yield* leader.idle).toBe(true)
      const repo = yield* Repo
      const [first] = ids
      const begun = yield* repo.run(first!)
      expect(begun).toMatchObject({ status: "queued", joined: 4 })
      expect(begun.held_until).toEqual(DateTime.add(begun.accepted_at, { seconds: 30 }))
      yield* sendMessage(team, "before")
      yield* sendMessage(team, "then")
      expect((yield* leader.next).text).toBe("before")
      yield* advance("17 seconds")
      yield* sendMessage(team, "after")
      yield* leader.answer("done")
      expect((yield* leader.next).text).toBe("then")
      yield* leader.answer("done")
      const { prompt } = yield* leader.next
      expect([prompt.run_id, prompt.prompt]).toEqual([ids[0], '{"branch":"main","commit":5}'])
      expect(prompt.values).toEqual({ text: '{"branch":"main","commit":5}' })
      yield* leader.answer("done")
      expect((yield* leader.next).text).toBe("after")
      yield* leader.answer("done")
      // The window is over: the next one is another run.
      expect(yield* webhook.submit({ branch: "main", commit: 6 })).not.toBe(ids[0])
    }).pipe(Effect.provide(again), Effect.provide(kept))
  }
)

it.effect("waits for a leader from the end of the window on", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const webhook = yield* makeWebhook(team, { coalesce, when_team_stopped: "queue", queue_for_seconds: 10 })
    const id = yield* webhook.submit({ branch: "main" })
    const repo = yield* Repo
    yield* advance("35 seconds")
    expect(yield* repo.run(id)).toMatchObject({ status: "queued" })
    yield* advance("10 seconds")
    yield* until(Effect.map(repo.run(id), ({ status }) => status === "error"))
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(ports))))
)

it.effect("leaves a trigger alone that has nothing at the key, and refuses one that waits", () =>
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
      updated_at: DateTime.makeUnsafe(yield* Clock.currentTimeMillis)
    })
    const alone = [yield* webhook.submit({ branch: "main" }), yield* webhook.submit({ branch: "main" })]
    expect(new Set(alone).size).toBe(2)
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(ports))))
)

const list =
  "{{ combined.count }} ({{ combined.dropped }}): {% for request in combined.requests %}{{ request.text.commit }} {% endfor %}"

const combining = { coalesce: { ...coalesce, collect: "all" }, template_language: "liquid" } as const

it.effect("lists all triggers in the prompt, once its window has been quiet", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const webhook = yield* makeWebhook(team, {
      ...combining,
      coalesce: { ...combining.coalesce, quiet: 8 },
      prompt_template: list
    })
    const id = yield* webhook.submit({ branch: "main", commit: 1 })
    for (const commit of [2, 3, 3]) {
      yield* advance("5 seconds")
      yield* webhook.submit({ branch: "main", commit }, { key: String(commit) })
    }
    yield* advance("2 seconds")
    expect(seen).toEqual([])
    // The repeat did not move the end of the window.
    yield* advance("4 seconds")
    yield* until(Effect.sync(() => seen.length > 0))
    const repo = yield* Repo
    const { joined, variables } = yield* repo.run(id)
    expect([seen, joined]).toEqual([["3 (0): 1 2 3 "], 2])
    expect(variables).toMatchObject({ text: { commit: 3 }, combined: { count: 3, dropped: 0 } })
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(ports))))
)

it.effect("counts triggers of which the last one counts, and a trigger that stands alone", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const webhook = yield* makeWebhook(team, { coalesce, prompt_template: "{{combined.count}}: {{text.commit}}" })
    for (const commit of [1, 2]) yield* webhook.submit({ branch: "main", commit })
    yield* webhook.submit({ commit: 3 })
    yield* advance("33 seconds")
    yield* until(Effect.sync(() => seen.length === 2))
    expect(seen).toEqual(["1: 3", "2: 2"])
  }).pipe(Effect.provide(engine().pipe(Layer.provideMerge(ports))))
)

it.effect("drops the oldest triggers of which no prompt has room, and all but the last where the template fails", () =>
  Effect.gen(function* () {
    const team = yield* makeTeam("deploy")
    const seen = yield* echo(team)
    const large = yield* makeWebhook(team, { ...combining, prompt_template: list })
    const fails = yield* makeWebhook(team, {
      ...combining,
      prompt_template: `{% if combined.requests.size > 1 %}{{ combined.requests[1].text.none }}{% endif %}${list}`
    })
    for (const commit of [1, 2, 3, 4]) {
      yield* large.submit({ branch: "main", commit: `${commit}`.repeat(30) })
      yield* fails.submit({ branch: "main", commit })
    }
    yield* advance("33 seconds")
    yield* until(Effect.sync(() => seen.length === 2))
    expect(seen).toEqual([`4 (2): ${"3".repeat(30)} ${"4".repeat(30)} `, "4 (3): 4 "])
  }).pipe(Effect.provide(engine({ maxPrompt: 90 }).pipe(Layer.provideMerge(ports))))
)
