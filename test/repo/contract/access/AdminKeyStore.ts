import { expect } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import { together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const adminKeyStore = (test: Test): void => {
  test("keeps the first caller's key, shows it alone, and returns it to all", function* () {
    const repo = yield* Repo
    expect(yield* repo.adminKeyHash).toEqual(Option.none())
    const shown: Array<number> = []
    const show = (n: number) => Effect.sync(() => void shown.push(n))
    const claims = yield* Effect.forEach(
      [1, 2, 3, 4],
      (n) => repo.claimAdminKeyHash(new Uint8Array(32).fill(n), show(n)),
      together
    )
    const stored = Option.getOrThrow(yield* repo.adminKeyHash)
    expect(stored).toHaveLength(32)
    for (const claim of claims) expect([...claim]).toEqual([...stored])
    expect(shown).toEqual([stored[0]])
  })

  test("keeps no key that was not shown", function* () {
    const repo = yield* Repo
    const [first, second] = [1, 2].map((n) => new Uint8Array(32).fill(n))
    expect(yield* Effect.flip(repo.claimAdminKeyHash(first!, Effect.fail("unseen")))).toBe("unseen")
    expect(yield* repo.adminKeyHash).toEqual(Option.none())
    expect([...(yield* repo.claimAdminKeyHash(second!, Effect.void))]).toEqual([...second!])
  })
}
