import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { Repo } from "../../../src/repo/Repo.ts"
import type { Test } from "./RepoContract.ts"

export const timeStore = (test: Test): void => {
  test("returns the current time in milliseconds since the epoch", function* () {
    const repo = yield* Repo
    const first = yield* repo.databaseTime
    expect(new Date(first).getUTCFullYear()).toBeGreaterThan(2024)
    yield* Effect.repeat(repo.databaseTime, { until: (now) => now > first })
  })
}
