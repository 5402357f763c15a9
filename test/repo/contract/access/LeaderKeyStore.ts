import { expect } from "@effect/vitest"
import { Effect, Option, Result, Stream } from "effect"
import type { LeaderKeyRow } from "../../../../src/domain/access/LeaderKey.ts"
import { NotFound } from "../../../../src/domain/Errors.ts"
import { makeLeaderKeyId } from "../../../../src/domain/Id.ts"
import { subscribe } from "../../../../src/repo/ChangeFeed.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, newTokenHash, ops, team } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const newKey = (fields: Partial<LeaderKeyRow> = {}) =>
  Effect.gen(function* () {
    const key: LeaderKeyRow = {
      id: yield* makeLeaderKeyId,
      team: ops,
      name: "laptop",
      hint: "…x7Qa",
      created_at: at(0),
      key_hash: yield* newTokenHash,
      ...fields
    }
    yield* (yield* Repo).createLeaderKey(key)
    return key
  })

const shown = ({ key_hash: _, ...key }: LeaderKeyRow) => key

export const leaderKeyStore = (test: Test): void => {
  test("lists a team's keys, oldest first, without their hashes", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    yield* repo.createTeam(team("other"), at(0))
    const [one, two] = [yield* newKey(), yield* newKey({ name: "Ünï \u0001", created_at: at(5) })]
    yield* newKey({ team: team("other") })
    expect(yield* repo.leaderKeys(ops)).toEqual([shown(one), shown(two)])
    expect(yield* Effect.flip(repo.leaderKeys(team("none")))).toEqual(new NotFound())
  })

  test("finds keys by their hash, in the order that was asked", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    const [one, two] = [yield* newKey(), yield* newKey()]
    const unknown = yield* newTokenHash
    expect(yield* repo.leaderKeysByHash([two.key_hash, unknown, one.key_hash])).toEqual([
      shown(two),
      undefined,
      shown(one)
    ])
    expect(yield* repo.leaderKeysByHash([])).toEqual([])
  })

  test("creates no key for a team that does not exist", function* () {
    expect(yield* Effect.flip(newKey())).toEqual(new NotFound())
  })

  test("records that a key was used", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    const key = yield* newKey()
    yield* repo.recordLeaderKeyUse(key.id, at(10))
    expect(yield* repo.leaderKeys(ops)).toEqual([{ ...shown(key), last_used_at: at(10) }])
    yield* repo.revokeLeaderKey(ops, key.id)
    yield* repo.recordLeaderKeyUse(key.id, at(20))
    expect(yield* repo.leaderKeys(ops)).toEqual([])
  })

  test("revokes a key of the team, once, and notifies every process", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    yield* repo.createTeam(team("other"), at(0))
    const [one, two] = [yield* newKey(), yield* newKey()]
    const changes = yield* subscribe(repo)
    expect(yield* Effect.flip(repo.revokeLeaderKey(team("other"), one.id))).toEqual(new NotFound())
    yield* repo.revokeLeaderKey(ops, one.id)
    expect(yield* Effect.flip(repo.revokeLeaderKey(ops, one.id))).toEqual(new NotFound())
    expect(yield* repo.leaderKeys(ops)).toEqual([shown(two)])
    // The notification of an earlier test may come late.
    const own: ReadonlyArray<string> = [one.id, two.id]
    const revoked = yield* Stream.fromQueue(changes).pipe(
      Stream.filterMap((change) =>
        change._tag === "LeaderKeyRevoked" ? Result.succeed(change.leader_key_id) : Result.failVoid
      ),
      Stream.filter((id) => own.includes(id)),
      Stream.runHead
    )
    expect(revoked).toEqual(Option.some(one.id))
  })

  test("forgets a deleted team's keys", function* () {
    const repo = yield* Repo
    yield* repo.createTeam(ops, at(0))
    const key = yield* newKey()
    yield* repo.deleteTeam(ops)
    expect(yield* repo.leaderKeysByHash([key.key_hash])).toEqual([undefined])
    yield* repo.createTeam(ops, at(1))
    expect(yield* repo.leaderKeys(ops)).toEqual([])
  })
}
