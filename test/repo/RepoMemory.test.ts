import { describe } from "@effect/vitest"
import { Effect } from "effect"
import { repoContract } from "../../src/repo/contract/RepoContract.ts"
import * as RepoMemory from "../../src/repo/memory/RepoMemory.ts"

describe("RepoMemory", () => repoContract((test) => test.pipe(Effect.scoped, Effect.provide(RepoMemory.layer))))
