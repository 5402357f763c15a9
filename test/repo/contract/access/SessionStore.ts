import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { SessionRow } from "../../../../src/domain/access/Session.ts"
import { makeSessionId } from "../../../../src/domain/Id.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, newTokenHash, ops } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const newSession = (fields: Partial<SessionRow> = {}) =>
  Effect.gen(function* () {
    const session: SessionRow = {
      id: yield* makeSessionId,
      token_hash: yield* newTokenHash,
      key_fingerprint: new Uint8Array(32).fill(7),
      created_at: at(0),
      last_used_at: at(0),
      expires_at: at(1_000),
      client_address: "203.0.113.7",
      user_agent: "A browser/1.0",
      ...fields
    }
    yield* (yield* Repo).createSession(session)
    return session
  })

export const sessionStore = (test: Test): void => {
  test("finds sessions by the hash of their token, in the order that was asked", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newSession(), yield* newSession({ user_agent: "" })]
    const unknown = yield* newTokenHash
    expect(yield* repo.sessionsByToken([two.token_hash, unknown, one.token_hash])).toEqual([two, undefined, one])
    expect(yield* repo.sessionsByToken([])).toEqual([])
  })

  test("keeps the person of a session, and leaves the ID token out of lists", function* () {
    const repo = yield* Repo
    const person = { id: "a-1", name: "Ada", role: "operator" as const, teams: [ops] }
    const session = yield* newSession({ person, authenticated_at: at(-5), sealed_id_token: "a key.a secret" })
    expect(yield* repo.sessionsByToken([session.token_hash])).toEqual([session])
    const { sealed_id_token: _, ...listed } = session
    expect(yield* repo.sessions).toEqual([listed])
  })

  test("keeps an access token's session as ended, until it is removed", function* () {
    const repo = yield* Repo
    const session = yield* newSession({ oauth_client: "an assistant", person: { id: "a-1", role: "operator" } })
    const browser = yield* newSession()
    const other = { ...session, id: yield* makeSessionId, user_agent: "Another request with this token" }
    yield* repo.createSession(other)
    expect(yield* repo.sessionsByToken([session.token_hash])).toEqual([session])
    expect(new Set(yield* repo.endSessions([session.id, browser.id]))).toEqual(new Set([session.id, browser.id]))
    expect(yield* repo.sessionsByToken([session.token_hash])).toEqual([{ ...session, is_ended: true }])
    expect(yield* repo.sessions).toEqual([{ ...session, is_ended: true }])
    expect(yield* repo.endSessions([session.id])).toEqual([])
    yield* repo.removeSessions([session.id])
    expect(yield* repo.sessions).toEqual([])
  })

  test("records that a session was used, and lists the one used last first", function* () {
    const repo = yield* Repo
    const [one, two] = [yield* newSession(), yield* newSession({ last_used_at: at(5) })]
    expect(yield* repo.sessions).toEqual([two, one])
    const use = { last_used_at: at(10), expires_at: at(2_000) }
    yield* repo.recordSessionUse(one.id, use)
    expect(yield* repo.sessions).toEqual([{ ...one, ...use }, two])
  })

  test("ends sessions, also those whose time has passed, and says which were there", function* () {
    const repo = yield* Repo
    const sessions = yield* Effect.forEach(count(3), () => newSession({ expires_at: at(-1) }))
    const [one, two, three] = sessions as [SessionRow, SessionRow, SessionRow]
    const never = yield* makeSessionId
    expect(new Set(yield* repo.endSessions([one.id, never, two.id]))).toEqual(new Set([one.id, two.id]))
    expect(yield* repo.endSessions([one.id])).toEqual([])
    yield* repo.recordSessionUse(one.id, { last_used_at: at(10), expires_at: at(2_000) })
    expect(yield* repo.sessions).toEqual([three])
    expect(yield* repo.sessionsByToken([one.token_hash])).toEqual([undefined])
  })
}
