import { describe } from "@effect/vitest"
import { Effect } from "effect"
import * as RepoMemory from "../../src/repo/memory/RepoMemory.ts"
import { contract } from "./contract.ts"

describe("RepoMemory", () => {
  contract((test) => test.pipe(Effect.scoped, Effect.provide(RepoMemory.layer)))
})
