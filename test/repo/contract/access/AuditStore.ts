import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { AuditAction, AuditDraft, AuditEvent } from "../../../../src/domain/access/AuditEvent.ts"
import { InvalidParameter } from "../../../../src/domain/Errors.ts"
import { auditEventIdAt, makeSessionId, makeWebhookId } from "../../../../src/domain/Id.ts"
import type { AuditExportQuery, AuditFilter } from "../../../../src/repo/access/AuditStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, epoch, newTokenHash, ops, queueRun, team } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const draftAt = (ms: number, action: AuditAction): AuditDraft => ({
  id: auditEventIdAt(epoch + ms),
  at: at(ms),
  action,
  actor: "session",
  key_id: "a key",
  key_name: "ci-deploy",
  person_id: "a person",
  person_name: "Ada",
  session_id: "a session",
  client_address: "203.0.113.7"
})

const events = Effect.flatMap(Repo, (repo) => Effect.map(repo.auditEvents({ limit: 100 }), ({ data }) => data))

export const auditStore = (test: Test): void => {
  test("shows how each change of a webhook was made, without its secrets", function* () {
    const repo = yield* Repo
    const { id } = yield* createWebhook()
    expect(yield* events).toEqual([])
    const created = draftAt(1, "webhook.created")
    const { last_triggered_at, token_hash, version, ...given } = yield* createWebhook({ timeout_seconds: 60 })
    const other = { ...given, id: yield* makeWebhookId, token_hash: yield* newTokenHash }
    yield* repo.createWebhook(other, created)
    const set = {
      ...{ name: "deploy", team: "ops", prompt_template: "Deploy {{service}}", timeout_seconds: 60 },
      ...{ enabled: true, token_hint: "…x7Qa" }
    }
    const creation: AuditEvent = { ...created, object: other.id, after: set }
    expect(yield* events).toEqual([creation])

    const edited = draftAt(2, "webhook.edited")
    const prompt_template = "é".repeat(1_001)
    yield* repo.updateWebhook(
      id,
      { name: "deploy", max_concurrent: 3, prompt_template, enabled: false, updated_at: at(2) },
      { audit: edited }
    )
    const edition: AuditEvent = {
      ...edited,
      object: id,
      before: { max_concurrent: null, prompt_template: "Deploy {{service}}", enabled: true },
      after: { max_concurrent: 3, prompt_template: `${"é".repeat(1_000)}…`, enabled: false }
    }
    expect(yield* events).toEqual([edition, creation])

    const regenerated = draftAt(3, "webhook.token_regenerated")
    yield* repo.updateWebhook(
      other.id,
      { token_hash: yield* newTokenHash, token_hint: "…1234", updated_at: at(3) },
      { audit: regenerated }
    )
    const regeneration: AuditEvent = {
      ...{ ...regenerated, object: other.id },
      ...{ before: { token_hint: "…x7Qa" }, after: { token_hint: "…1234" } }
    }
    expect(yield* events).toEqual([regeneration, edition, creation])

    const deleted = draftAt(4, "webhook.deleted")
    yield* repo.deleteWebhook(other.id, { audit: deleted })
    const deletion: AuditEvent = { ...deleted, object: other.id, before: { ...set, token_hint: "…1234" } }
    expect(yield* events).toEqual([deletion, regeneration, edition, creation])
  })

  test("shows no change that was not made", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const audit = draftAt(1, "webhook.edited")
    const none = yield* makeWebhookId
    yield* Effect.flip(repo.updateWebhook(none, { name: "x", updated_at: at(1) }, { audit }))
    yield* Effect.flip(repo.updateWebhook(webhook.id, { name: "x", updated_at: at(1) }, { audit, versions: [7] }))
    yield* Effect.flip(repo.updateWebhook(webhook.id, { team: team("none"), updated_at: at(1) }, { audit }))
    yield* Effect.flip(repo.deleteWebhook(none, { audit }))
    yield* Effect.flip(repo.createTeam(ops, at(1), audit))
    yield* Effect.flip(repo.deleteTeam(ops, audit))
    yield* queueRun(webhook)
    expect(yield* events).toEqual([])
  })

  test("shows that teams were created and deleted", function* () {
    const repo = yield* Repo
    const [created, deleted] = [draftAt(1, "team.created"), draftAt(2, "team.deleted")]
    yield* repo.createTeam(ops, at(1), created)
    yield* repo.deleteTeam(ops, deleted)
    expect(yield* events).toEqual([
      { ...deleted, object: "ops" },
      { ...created, object: "ops" }
    ])
  })

  test("shows that sessions were started and ended, several at once too", function* () {
    const repo = yield* Repo
    const started = draftAt(1, "session.started")
    const start = (audit?: AuditDraft) =>
      Effect.gen(function* () {
        const id = yield* makeSessionId
        const times = { created_at: at(0), last_used_at: at(0), expires_at: at(9) }
        const from = { client_address: "203.0.113.7", user_agent: "A browser" }
        const token_hash = yield* newTokenHash
        yield* repo.createSession({ id, ...times, ...from, token_hash, key_fingerprint: new Uint8Array(32) }, audit)
        return id
      })
    const [one, two, three] = [yield* start(started), yield* start(), yield* start()]
    const [first, rest] = [draftAt(2, "session.ended"), draftAt(3, "session.ended")]
    yield* repo.endSessions([one], first)
    yield* repo.endSessions([one, two, three], rest)
    yield* repo.endSessions([one, two, three], draftAt(4, "session.ended"))
    expect(yield* events).toEqual([
      { ...rest, after: { ended: 2 } },
      { ...first, object: one },
      { ...started, object: one, after: { user_agent: "A browser" } }
    ])
  })

  test("reads events newest first, page by page, and of one object or action", function* () {
    const repo = yield* Repo
    const all = count(10).map(
      (n): AuditEvent => ({
        ...draftAt(n, n % 2 === 0 ? "session.started" : "key.refused"),
        ...(n < 4 && { object: "s" }),
        ...(n % 2 === 1 && { attempts: n })
      })
    )
    for (const event of all) yield* repo.recordAudit(event)
    const newest = all.toReversed()
    const pages = (query: { readonly object?: string; readonly action?: AuditAction }, limit: number) =>
      Effect.gen(function* () {
        const read: Array<ReadonlyArray<AuditEvent>> = []
        let cursor: string | null | undefined
        do {
          const page = yield* repo.auditEvents({ ...query, limit, ...(cursor && { cursor }) })
          read.push(page.data)
          cursor = page.next_cursor
        } while (cursor !== null)
        return read
      })
    expect(yield* pages({}, 4)).toEqual([newest.slice(0, 4), newest.slice(4, 8), newest.slice(8)])
    expect(yield* pages({}, 5)).toEqual([newest.slice(0, 5), newest.slice(5)])
    expect(yield* pages({ object: "s" }, 9)).toEqual([newest.slice(6)])
    expect(yield* pages({ object: "s", action: "key.refused" }, 9)).toEqual([[newest[6], newest[8]]])
    for (const cursor of ["", "x", "%00", "7"]) {
      const error = yield* Effect.flip(repo.auditEvents({ limit: 1, cursor }))
      expect(error).toBeInstanceOf(InvalidParameter)
    }
  })

  test("removes events from before a point in time", function* () {
    const repo = yield* Repo
    const all = count(5).map((n) => draftAt(n, "session.started"))
    for (const event of all) yield* repo.recordAudit(event)
    expect(yield* repo.purgeAudit(at(3))).toBe(3)
    expect(yield* repo.purgeAudit(at(3))).toBe(0)
    expect((yield* events).map(({ id }) => id)).toEqual([all[4]!.id, all[3]!.id])
  })

  test("exports events oldest first, page by page, and of one object, action or time", function* () {
    const repo = yield* Repo
    const all = count(6).map(
      (n): AuditEvent => ({
        ...draftAt(n, n % 2 === 0 ? "session.started" : "session.ended"),
        ...(n < 4 && { object: "s", after: { note: 'a "quoted"\nline, \u2028 and \\u0000', cost: 0.5 } })
      })
    )
    for (const event of all.toReversed()) yield* repo.recordAudit(event)
    const exported = (query: Partial<AuditExportQuery>) => repo.auditExport({ limit: 9, ...query })
    expect(yield* exported({})).toEqual(all)
    expect(yield* exported({ limit: 2 })).toEqual(all.slice(0, 2))
    expect(yield* exported({ after: all[3]!.id })).toEqual(all.slice(4))
    const which = (filter: AuditFilter, matches: (event: AuditEvent) => boolean) =>
      Effect.gen(function* () {
        expect(yield* exported(filter)).toEqual(all.filter(matches))
        const listed = yield* repo.auditEvents({ limit: 9, ...filter })
        expect(listed.data).toEqual(all.filter(matches).toReversed())
      })
    yield* which({ action: "session.ended" }, ({ action }) => action === "session.ended")
    yield* which({ object: "s" }, ({ object }) => object === "s")
    const [, second, , , fifth] = all
    yield* which({ from: second!.at, to: fifth!.at }, ({ id }) => id >= second!.id && id < fifth!.id)
  })

  test("gives each event to the log once, and again only if that failed", function* () {
    const repo = yield* Repo
    const logged: Array<ReadonlyArray<AuditEvent>> = []
    const log = (events: ReadonlyArray<AuditEvent>) => Effect.sync(() => void logged.push(events))
    expect(yield* repo.logAudit(log)).toBe(0)
    const { last_triggered_at, version, ...webhook } = yield* createWebhook()
    const id = yield* makeWebhookId
    yield* repo.createWebhook({ ...webhook, id, token_hash: yield* newTokenHash }, draftAt(2, "webhook.created"))
    yield* repo.recordAudit(draftAt(1, "session.started"))
    expect(yield* Effect.flip(repo.logAudit(() => Effect.fail("no reader" as const)))).toBe("no reader")
    expect(yield* repo.logAudit(log)).toBe(2)
    expect(yield* repo.logAudit(log)).toBe(0)
    expect(logged).toEqual([(yield* events).toReversed()])
  })
}
