import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { AuditDraft } from "../../../../src/domain/access/AuditEvent.ts"
import { auditEventIdAt, type RunId, type WebhookId } from "../../../../src/domain/Id.ts"
import { keptKey } from "../../../../src/repo/manage/WebhookStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acceptOne, at, count, createWebhook, drain, epoch, laneTeams, newRun, ops, together } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const draft = (action: AuditDraft["action"], ms: number): AuditDraft => ({
  id: auditEventIdAt(epoch + ms),
  at: at(ms),
  action,
  actor: "automatic"
})

const reason = "3 runs failed in a row"

const pause = (id: WebhookId, version: number, ms: number) =>
  Effect.flatMap(Repo, (repo) => repo.pauseWebhook(id, { version, at: at(ms), reason }, draft("webhook.paused", ms)))

export const pauses = (test: Test): void => {
  test(
    "a pause and its end give the webhook another version, and say who did it, when and why",
    Effect.gen(function* () {
      const repo = yield* Repo
      const { id } = yield* createWebhook()
      expect(yield* pause(id, 1, 4)).toBe(true)
      const paused = { version: 2, paused_at: at(4), paused_by: "automatic", paused_reason: reason }
      expect(yield* repo.webhook(id)).toMatchObject(paused)
      expect(yield* repo.webhookRow(id)).toMatchObject(paused)

      // Of several servers that resume it, one does.
      const resumed = yield* Effect.all(
        count(4).map((each) => repo.resumeWebhook(id, at(5), draft("webhook.resumed", 5 + each))),
        together
      )
      expect(resumed.filter(Boolean)).toHaveLength(1)
      const after = yield* repo.webhookRow(id)
      expect([after.version, after.failures_since]).toEqual([3, at(5)])
      expect([after.paused_at, after.paused_by, after.paused_reason]).toEqual([undefined, undefined, undefined])
      const { data } = yield* repo.auditEvents({ object: id, limit: 10 })
      expect(data.map(({ action, actor, after }) => [action, actor, after?.paused_reason])).toEqual([
        ["webhook.resumed", "automatic", null],
        ["webhook.paused", "automatic", reason]
      ])
    })
  )

  test(
    "a webhook that was edited, paused, disabled or deleted in the meantime is not paused",
    Effect.gen(function* () {
      const repo = yield* Repo
      const { id } = yield* createWebhook()
      yield* repo.updateWebhook(id, { failures_since: at(2), updated_at: at(2) })
      expect(yield* pause(id, 1, 3)).toBe(false)
      const both = yield* Effect.all([pause(id, 2, 4), pause(id, 2, 5)], together)
      expect(both.toSorted()).toEqual([false, true])
      expect(yield* pause(id, 3, 6)).toBe(false)
      yield* repo.resumeWebhook(id, at(7))
      yield* repo.updateWebhook(id, { enabled: false, updated_at: at(8) })
      expect(yield* pause(id, 5, 9)).toBe(false)
      yield* repo.deleteWebhook(id)
      expect(yield* pause(id, 5, 10)).toBe(false)
      expect(yield* repo.resumeWebhook(id, at(11))).toBe(false)
    })
  )

  test(
    "runs that are kept for a paused webhook join their lane in their order once it is resumed",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* createWebhook()
      yield* pause(webhook.id, 1, 3)
      const paused = { ...webhook, version: 2 }
      const kept = { until: DateTime.makeUnsafe("2100-01-01T00:00:00Z") }
      const deadline_at = DateTime.add(kept.until, { hours: 1 })
      const ids: Array<RunId> = []
      for (const n of count(3)) {
        const run = yield* newRun(paused, { coalesce: { ...kept, key: `${keptKey}${n}` }, deadline_at })
        ids.push(run.run_id)
        yield* acceptOne(run)
      }
      const other = yield* newRun(paused, { coalesce: { ...kept, key: "other" } })
      yield* acceptOne(other)
      yield* repo.closeWindows(at(10_000))
      expect(yield* laneTeams).toEqual([])
      expect(yield* repo.resumeWebhook(webhook.id, at(20_000))).toBe(true)
      yield* repo.closeWindows(at(20_000))
      const later = DateTime.add(at(20_000), { hours: 1 })
      expect(yield* repo.expire(DateTime.subtract(later, { milliseconds: 1 }), { stopped: [ops] })).toEqual([])
      expect(yield* drain()).toEqual(ids)
      expect((yield* repo.run(other.run_id)).collecting_until).toEqual(kept.until)
    })
  )
}
