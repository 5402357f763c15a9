import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { ApiKeyRow } from "../../../../src/domain/access/ApiKey.ts"
import { NotFound } from "../../../../src/domain/Errors.ts"
import { makeApiKeyId, makeSessionId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, newTokenHash, ops, team } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const newKey = (fields: Partial<ApiKeyRow> = {}) =>
  Effect.gen(function* () {
    const key: ApiKeyRow = {
      id: yield* makeApiKeyId,
      name: "ci-deploy",
      role: "operator",
      hint: "…x7Qa",
      created_at: at(0),
      created_by: "admin key",
      key_hash: yield* newTokenHash,
      ...fields
    }
    yield* (yield* Repo).createApiKey(key)
    return key
  })

const shown = ({ key_hash: _, ...key }: ApiKeyRow) => key

export const apiKeyStore = (test: Test): void => {
  test("lists all keys, oldest first, without their hashes", function* () {
    const repo = yield* Repo
    const limited = { teams: [ops, team("other")], expires_at: at(9) }
    const [one, two] = [yield* newKey(limited), yield* newKey({ name: "Ünï", role: "admin", created_at: at(5) })]
    expect(yield* repo.apiKeys).toEqual([shown(one), shown(two)])
  })

  test("finds keys by their hash and by their id, in the order that was asked", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newKey({ teams: [ops] }), yield* newKey()]
    const found = [shown(two), undefined, shown(one)]
    expect(yield* repo.apiKeysByHash([two.key_hash, yield* newTokenHash, one.key_hash])).toEqual(found)
    expect(yield* repo.apiKeysById([two.id, yield* makeApiKeyId, one.id])).toEqual(found)
    expect([yield* repo.apiKeysByHash([]), yield* repo.apiKeysById([])]).toEqual([[], []])
  })

  test("records that a key was used, at most once a minute", function* () {
    const repo = yield* Repo
    const key = yield* newKey()
    yield* repo.recordApiKeyUse(key.id, at(10))
    const lastUsed = Effect.map(repo.apiKeys, ([key]) => key?.last_used_at)
    expect(yield* repo.apiKeys).toEqual([{ ...shown(key), last_used_at: at(10) }])
    yield* repo.recordApiKeyUse(key.id, at(60_009))
    expect(yield* lastUsed).toEqual(at(10))
    yield* repo.recordApiKeyUse(key.id, at(60_010))
    expect(yield* lastUsed).toEqual(at(60_010))
  })

  test("revokes a key once, keeps it, and ends its sessions on every process", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newKey(), yield* newKey()]
    const sessions = yield* Effect.forEach([one, two], (key) =>
      Effect.gen(function* () {
        const session = {
          id: yield* makeSessionId,
          token_hash: yield* newTokenHash,
          api_key_id: key.id,
          key_name: key.name,
          created_at: at(0),
          last_used_at: at(0),
          expires_at: at(1_000),
          client_address: "203.0.113.7",
          user_agent: ""
        }
        yield* repo.createSession(session)
        return session
      })
    )
    yield* repo.revokeApiKey(one.id, at(7))
    expect(yield* Effect.flip(repo.revokeApiKey(one.id, at(8)))).toEqual(new NotFound())
    expect(yield* Effect.flip(repo.revokeApiKey(yield* makeApiKeyId, at(8)))).toEqual(new NotFound())
    expect(yield* repo.apiKeysById([one.id])).toEqual([{ ...shown(one), revoked_at: at(7) }])
    expect(yield* repo.sessions).toEqual([sessions[1]])
  })
}
