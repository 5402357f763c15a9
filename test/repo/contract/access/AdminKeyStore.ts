import { expect } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import { together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const adminKeyStore = (test: Test): void => {
  test(
    "keeps the first caller's key, and returns it to all",
    Effect.gen(function* () {
      const repo = yield* Repo
      expect(yield* repo.adminKeyHash).toEqual(Option.none())
      const claims = yield* Effect.forEach(
        [1, 2, 3, 4],
        (n) => repo.claimAdminKeyHash(new Uint8Array(32).fill(n)),
        together
      )
      const stored = Option.getOrThrow(yield* repo.adminKeyHash)
      expect(stored).toHaveLength(32)
      for (const claim of claims) expect([...claim]).toEqual([...stored])
    })
  )
}
