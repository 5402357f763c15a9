import { expect } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Repo } from "../../../../src/repo/Repo.ts"
import { together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const fingerprint = (n: number) => new Uint8Array(32).fill(n)

export const secretKeyStore = (test: Test): void => {
  test("keeps the first server's fingerprint, and gives it to all", function* () {
    const repo = yield* Repo
    expect(yield* repo.secretKeyFingerprint).toEqual(Option.none())
    const claims = yield* Effect.forEach(
      [1, 2, 3, 4],
      (n) => repo.setSecretKeyFingerprint(fingerprint(n), Option.none()),
      together
    )
    const stored = Option.getOrThrow(yield* repo.secretKeyFingerprint)
    expect(stored).toHaveLength(32)
    for (const claim of claims) expect([...claim]).toEqual([...stored])
  })

  test("changes it only if the server knows the stored one", function* () {
    const repo = yield* Repo
    yield* repo.setSecretKeyFingerprint(fingerprint(1), Option.none())
    const notKnown = yield* repo.setSecretKeyFingerprint(fingerprint(3), Option.some(fingerprint(2)))
    expect([...notKnown]).toEqual([...fingerprint(1)])
    const changed = yield* repo.setSecretKeyFingerprint(fingerprint(2), Option.some(fingerprint(1)))
    expect([...changed]).toEqual([...fingerprint(2)])
    expect([...Option.getOrThrow(yield* repo.secretKeyFingerprint)]).toEqual([...fingerprint(2)])
  })
}
