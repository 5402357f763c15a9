import { createHash } from "node:crypto"
import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { noEvent } from "../../../../src/domain/access/AuditChain.ts"
import type { AuditAction, AuditDraft, AuditEvent } from "../../../../src/domain/access/AuditEvent.ts"
import { InvalidParameter } from "../../../../src/domain/Errors.ts"
import { auditEventIdAt, makeSessionId, makeWebhookId } from "../../../../src/domain/Id.ts"
import type { ChainQuery } from "../../../../src/repo/access/AuditStore.ts"
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
  test(
    "shows how each change of a webhook was made, without its secrets",
    Effect.gen(function* () {
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
  )

  test(
    "shows no change that was not made",
    Effect.gen(function* () {
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
  )

  test(
    "shows that teams were created and deleted",
    Effect.gen(function* () {
      const repo = yield* Repo
      const [created, deleted] = [draftAt(1, "team.created"), draftAt(2, "team.deleted")]
      yield* repo.createTeam(ops, at(1), created)
      yield* repo.deleteTeam(ops, deleted)
      expect(yield* events).toEqual([
        { ...deleted, object: "ops" },
        { ...created, object: "ops" }
      ])
    })
  )

  test(
    "shows that sessions were started and ended, several at once too",
    Effect.gen(function* () {
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
  )

  test(
    "reads events newest first, page by page, and of one object or action",
    Effect.gen(function* () {
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
  )

  test(
    "removes events from before a point in time",
    Effect.gen(function* () {
      const repo = yield* Repo
      const all = count(5).map((n) => draftAt(n, "session.started"))
      for (const event of all) yield* repo.recordAudit(event)
      expect(yield* repo.purgeAudit(at(3))).toBe(3)
      expect(yield* repo.purgeAudit(at(3))).toBe(0)
      expect((yield* events).map(({ id }) => id)).toEqual([all[4]!.id, all[3]!.id])
    })
  )

  test(
    "chains all events in the order of their commits, each to the one before it",
    Effect.gen(function* () {
      const repo = yield* Repo
      expect(yield* repo.auditChain({ after: 0, limit: 9 })).toEqual({ start: noEvent, end: noEvent, events: [] })
      const { last_triggered_at, version, ...webhook } = yield* createWebhook()
      const id = yield* makeWebhookId
      yield* repo.createWebhook({ ...webhook, id, token_hash: yield* newTokenHash }, draftAt(9, "webhook.created"))
      yield* repo.recordAudit({ ...draftAt(7, "key.refused"), attempts: 3 })
      const quoted = { note: 'a "quoted"\nline, \u2028 and \\u0000', cost: 0.5 }
      const last = draftAt(8, "runs.exported")
      yield* repo.recordAudit({ ...last, object: id, after: quoted })
      const { end, events, start } = yield* repo.auditChain({ after: 0, limit: 9 })
      expect(start).toEqual(noEvent)
      const contents = events.map(({ content }) => JSON.parse(content))
      expect(contents.map(({ action, sequence }) => [sequence, action])).toEqual([
        [1, "webhook.created"],
        [2, "key.refused"],
        [3, "runs.exported"]
      ])
      expect(contents.map(({ previous_hash }) => previous_hash)).toEqual([
        noEvent.hash,
        events[0]!.hash,
        events[1]!.hash
      ])
      for (const { content, hash, sequence } of events) {
        expect(createHash("sha256").update(content).digest("hex")).toBe(hash)
        expect(content).not.toContain("\n")
        expect(JSON.parse(content).sequence).toBe(sequence)
      }
      expect(end).toEqual({ sequence: 3, hash: events[2]!.hash })
      const [, refusal, exported] = contents
      const place = { sequence: expect.any(Number), previous_hash: expect.any(String) }
      expect(exported).toEqual({ ...place, ...last, at: DateTime.formatIso(at(8)), object: id, after: quoted })
      expect(refusal.attempts).toBe(3)
    })
  )

  test(
    "reads a part of the chain, and finds events in it",
    Effect.gen(function* () {
      const repo = yield* Repo
      for (const n of count(6)) {
        const event = draftAt(n, n % 2 === 0 ? "session.started" : "session.ended")
        yield* repo.recordAudit({ ...event, ...(n < 4 && { object: "s" }) })
      }
      const places = (query: Partial<ChainQuery>) =>
        Effect.map(repo.auditChain({ after: 0, limit: 9, ...query }), ({ events }) =>
          events.map(({ sequence }) => sequence)
        )
      expect(yield* places({ limit: 2 })).toEqual([1, 2])
      expect(yield* places({ after: 4 })).toEqual([5, 6])
      const all = yield* Effect.map(repo.auditEvents({ limit: 9 }), ({ data }) => data.toReversed())
      const which = (filter: Partial<ChainQuery>, matches: (event: AuditEvent) => boolean) =>
        Effect.gen(function* () {
          expect(yield* places(filter)).toEqual(all.flatMap((event, n) => (matches(event) ? [n + 1] : [])))
          const { after: _, ...query } = { after: 0, limit: 9, ...filter }
          const listed = yield* repo.auditEvents(query)
          expect(listed.data).toEqual(all.filter(matches).toReversed())
        })
      yield* which({ action: "session.ended" }, ({ action }) => action === "session.ended")
      yield* which({ object: "s" }, ({ object }) => object === "s")
      const [, second, , , fifth] = all
      const isWithin = (event: AuditEvent) => event.id >= second!.id && event.id < fifth!.id
      yield* which({ from: second!.at, to: fifth!.at }, isWithin)
    })
  )

  test(
    "removes events from the beginning of the chain, which then begins later",
    Effect.gen(function* () {
      const repo = yield* Repo
      // The third was written by a server whose clock is late.
      for (const ms of [1, 5, 2, 6]) yield* repo.recordAudit(draftAt(ms, "session.started"))
      const { end, events } = yield* repo.auditChain({ after: 0, limit: 9 })
      expect(yield* repo.purgeAudit(at(3))).toBe(1)
      const left = yield* repo.auditChain({ after: 0, limit: 9 })
      expect(left).toEqual({ start: { sequence: 1, hash: events[0]!.hash }, end, events: events.slice(1) })
      expect(yield* repo.purgeAudit(at(9))).toBe(3)
      expect(yield* repo.auditChain({ after: 0, limit: 9 })).toEqual({ start: end, end, events: [] })
      yield* repo.recordAudit(draftAt(10, "session.started"))
      const [next] = (yield* repo.auditChain({ after: 0, limit: 9 })).events
      expect([next!.sequence, JSON.parse(next!.content).previous_hash]).toEqual([5, end.hash])
    })
  )
}
