import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { AuditDraft } from "../../../../src/domain/access/AuditEvent.ts"
import { auditEventIdAt, type RunId, type WebhookId } from "../../../../src/domain/Id.ts"
import { approvalDays } from "../../../../src/domain/run/Held.ts"
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
  test("a pause and its end give the webhook another version, and say who did it, when and why", function* () {
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

  test("a webhook that was edited, paused, disabled or deleted in the meantime is not paused", function* () {
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

  test("runs that are kept for a paused webhook join their lane in their order once it is resumed", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    yield* pause(webhook.id, 1, 3)
    const paused = { ...webhook, version: 2 }
    const ids: Array<RunId> = []
    for (const _ of count(3)) {
      const run = yield* newRun(paused, {
        accepted_at: at(4),
        hold: { for: "webhook_paused" },
        deadline_at: at(3_600_004)
      })
      ids.push(run.run_id)
      yield* acceptOne(run)
    }
    const ends = at(30_000_000)
    const other = yield* newRun(paused, { coalesce: { key: "other", until: ends } })
    const later = yield* newRun(paused, {
      hold: { for: "webhook_paused", until: ends },
      deadline_at: at(30_001_000),
      needs_approval: true
    })
    yield* acceptOne(other)
    yield* acceptOne(later)
    yield* repo.endHolds(at(10_000_000))
    expect(yield* repo.expire(at(10_000_000), { stopped: [ops] })).toEqual([])
    expect(yield* laneTeams).toEqual([])
    expect(yield* repo.resumeWebhook(webhook.id, at(20_000_000))).toBe(true)
    yield* repo.endHolds(at(20_000_000))
    expect(yield* repo.expire(at(20_000_000 + 3_599_999), { stopped: [ops] })).toEqual([])
    expect(yield* drain()).toEqual(ids)
    expect(yield* repo.run(other.run_id)).toMatchObject({ held_for: "window", held_until: ends })
    expect(yield* repo.run(later.run_id)).toMatchObject({ held_for: "time", held_until: ends })
    yield* repo.endHolds(ends)
    expect(yield* repo.run(later.run_id)).toMatchObject({
      held_for: "approval",
      held_until: DateTime.add(ends, { days: approvalDays })
    })
  })
}
