import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Evaluator } from "../../../src/engine/prompt/Evaluator.ts"

it.live("counts what others did for a key, and refuses that key alone what is not quick", () =>
  Effect.gen(function* () {
    const { charge, refusalOf } = yield* Evaluator
    charge("webhook", 1_000)
    expect(refusalOf("webhook")).toBe(undefined)
    // Of which a quarter of a second comes back each second.
    charge("webhook", 60_000)
    expect(refusalOf("webhook")).toMatchObject({ _tag: "Unavailable", what: "server" })
    expect(refusalOf("another webhook")).toBe(undefined)
  }).pipe(Effect.provide(Evaluator.layer))
)
