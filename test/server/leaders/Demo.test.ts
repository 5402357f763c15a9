import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { TeamStore } from "../../../src/repo/manage/TeamStore.ts"
import { Repo } from "../../../src/repo/Repo.ts"
import * as Demo from "../../../src/server/leaders/Demo.ts"
import { layerRepo } from "../../../src/testing.ts"

it.effect("the demo webhook is created also if somebody creates the team at the same moment", () => {
  const late = Layer.flatMap(layerRepo, (context) => {
    const store = Context.get(context, TeamStore)
    const createTeam: typeof store.createTeam = (team, at) =>
      Effect.andThen(store.createTeam(team, at), store.createTeam(team, at))
    return Layer.succeedContext(Context.add(context, TeamStore, { ...store, createTeam }))
  })
  return Effect.gen(function* () {
    const found = Option.getOrThrow(yield* Demo.prepare)
    expect(found.webhook).toMatchObject({ name: "demo", team: "demo" })
    expect(yield* (yield* Repo).webhooks).toHaveLength(1)
    expect((yield* (yield* TeamStore).teams).map(({ team }) => team)).toEqual(["demo"])
  }).pipe(Effect.provide(late))
})
