import { expect } from "@effect/vitest"
import { Repo } from "../../../../src/repo/Repo.ts"
import type { Test } from "../RepoContract.ts"

export const replyKeyStore = (test: Test): void => {
  test("has a key from the start, always the same, and prompts are signed from the start", function* () {
    const repo = yield* Repo
    const { key } = yield* repo.replyKey
    expect(key).toHaveLength(32)
    expect(new Set(key).size).toBeGreaterThan(8)
    expect([...(yield* repo.replyKey).key]).toEqual([...key])
  })
}
