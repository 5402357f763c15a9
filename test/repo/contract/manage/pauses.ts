import { expect } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import type { AuditDraft } from "../../../../src/domain/access/AuditEvent.ts"
import { alertIdAt, auditEventIdAt, type RunId, type WebhookId } from "../../../../src/domain/Id.ts"
import type { Outcome } from "../../../../src/domain/run/Run.ts"
import { keptKey, type PauseDue } from "../../../../src/repo/manage/PauseStore.ts"
import type { NewWebhook } from "../../../../src/repo/manage/WebhookStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { endRun, newDestination } from "../delivery/fixtures.ts"
import {
  acceptOne,
  at,
  count,
  createWebhook,
  epoch,
  failure,
  newRun,
  ops,
  outcomes,
  success,
  team,
  together
} from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const draft = (action: AuditDraft["action"], ms: number): AuditDraft => ({
  id: auditEventIdAt(epoch + ms),
  at: at(ms),
  action,
  actor: "automatic"
})

/** Pauses the webhook when it is due, and returns its failures. */
const pauseDue = (id: WebhookId, ms: number) =>
  Effect.gen(function* () {
    const repo = yield* Repo
    const due = (yield* repo.pausesDue).find(({ webhook_id }) => webhook_id === id)
    if (due?.failures === undefined) return undefined
    const alert = { id: alertIdAt(epoch + ms), at: at(ms) }
    expect(yield* repo.pauseWebhook({ ...due, failures: due.failures }, alert, draft("webhook.paused", ms))).toBe(true)
    return due.failures
  })

const isDue = (id: WebhookId) =>
  Effect.map(
    Effect.flatMap(Repo, (repo) => repo.pausesDue),
    (all): PauseDue | undefined => all.find(({ webhook_id }) => webhook_id === id)
  )

const limited = (fields: Partial<NewWebhook> = {}) => createWebhook({ pause_after_failures: 2, ...fields })

const overBudget: Outcome = { status: "error", error: { code: "budget_exceeded", message: "used up" } }

export const pauses = (test: Test): void => {
  test(
    "a pause is due after failures and timeouts in a row: runs that were cancelled or over a budget do not count, and a success begins anew",
    Effect.gen(function* () {
      expect(yield* (yield* Repo).anyMayPause).toBe(false)
      const webhook = yield* limited()
      expect(yield* (yield* Repo).anyMayPause).toBe(true)
      const without = yield* createWebhook({ name: "without a limit" })
      for (const each of [webhook, without]) {
        yield* endRun(each, 1, failure("No"))
        yield* endRun(each, 2, outcomes.cancelled)
        yield* endRun(each, 2, overBudget)
        yield* endRun(each, 3)
        yield* endRun(each, 4, outcomes.timeout)
      }
      expect(yield* isDue(webhook.id)).toBeUndefined()
      for (const each of [webhook, without]) yield* endRun(each, 5, failure("No"))
      expect(yield* isDue(webhook.id)).toEqual({ webhook_id: webhook.id, version: 1, failures: 2 })
      expect(yield* isDue(without.id)).toBeUndefined()
      yield* (yield* Repo).updateWebhook(webhook.id, { enabled: false, updated_at: at(6) })
      expect(yield* isDue(webhook.id)).toBeUndefined()
    })
  )

  test(
    "runs that are kept for a paused webhook join their lane in their order once it is resumed",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited()
      for (const ms of [1, 2]) yield* endRun(webhook, ms, failure("No"))
      expect(yield* pauseDue(webhook.id, 3)).toBe(2)
      const paused = { ...webhook, version: 2 }
      const kept = { until: DateTime.unsafeMake("2100-01-01T00:00:00Z") }
      const deadline_at = DateTime.add(kept.until, { hours: 1 })
      const ids: Array<RunId> = []
      for (const n of count(3)) {
        const run = yield* newRun(paused, { coalesce: { ...kept, key: `${keptKey}${n}` }, deadline_at })
        ids.push(run.run_id)
        yield* acceptOne(run)
      }
      const other = yield* newRun(paused, { coalesce: { ...kept, key: "other" } })
      yield* acceptOne(other)
      const lane = Effect.map(repo.lane(ops, 10), (all) => all.map(({ run_id }) => run_id))
      yield* repo.closeWindows(at(10_000))
      expect(yield* lane).toEqual([])
      expect(yield* repo.resumeWebhook(webhook.id, at(20_000))).toBe(true)
      yield* repo.closeWindows(at(20_000))
      expect(yield* lane).toEqual(ids)
      expect((yield* repo.lane(ops, 1))[0]).toMatchObject({ deadline_at: DateTime.add(at(20_000), { hours: 1 }) })
      expect((yield* repo.run(other.run_id)).collecting_until).toEqual(kept.until)
    })
  )

  test(
    "failures from before the count began pause nothing, and a pause by an old version does nothing",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited()
      yield* endRun(webhook, 1, failure("No"))
      yield* endRun(webhook, 2, failure("No"))
      const due = yield* isDue(webhook.id)
      yield* repo.updateWebhook(webhook.id, { failures_since: at(2), updated_at: at(2) })
      const alert = { id: alertIdAt(epoch), at: at(3) }
      expect(yield* repo.pauseWebhook({ ...due!, failures: 2 }, alert)).toBe(false)
      expect(yield* isDue(webhook.id)).toBeUndefined()
      yield* endRun({ ...webhook, version: 2 }, 4, failure("No"))
      expect(yield* isDue(webhook.id)).toBeUndefined()
      yield* endRun({ ...webhook, version: 2 }, 5, failure("No"))
      expect(yield* isDue(webhook.id)).toMatchObject({ failures: 2 })
    })
  )

  test(
    "a pause gives the webhook another version, says who, when and why, and is an alert with one message each",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited()
      const destination = yield* newDestination(undefined, { events: ["alert.firing", "alert.resolved"] })
      const onlyEnds = yield* newDestination(undefined, { events: ["alert.resolved"] })
      const sentTo = (id: typeof destination.id) =>
        Effect.map(repo.deliveries({ owner: null, destination_id: id, limit: 10 }), ({ data }) =>
          data.map(({ event }) => event)
        )
      const alertsOf = Effect.map(repo.alerts({ webhook_id: webhook.id, limit: 10 }), (all) =>
        all.map(({ condition, resolved_at, rule_id, since, state, team, threshold, value }) => ({
          ...{ condition, resolved_at, rule_id, since, state, team, threshold, value }
        }))
      )
      yield* endRun(webhook, 1, failure("No"))
      yield* endRun(webhook, 2, failure("No"))
      yield* endRun(webhook, 3, failure("No"))
      expect(yield* pauseDue(webhook.id, 4)).toBe(3)
      expect(yield* repo.webhook(webhook.id)).toMatchObject({
        version: 2,
        paused_at: at(4),
        paused_by: "automatic",
        paused_reason: "3 runs failed in a row"
      })
      const alert = { condition: "paused", since: at(4), team: ops, threshold: 2, value: 3 }
      expect(yield* alertsOf).toEqual([{ ...alert, state: "firing" }])
      expect(yield* isDue(webhook.id)).toBeUndefined()
      expect([yield* sentTo(destination.id), yield* sentTo(onlyEnds.id)]).toEqual([["alert.firing"], []])

      // Of several servers that resume it, one does.
      const resumed = yield* Effect.all(
        count(4).map((each) =>
          repo.resumeWebhook(webhook.id, at(5), { version: 2, audit: draft("webhook.resumed", 5 + each) })
        ),
        together
      )
      expect(resumed.filter(Boolean)).toHaveLength(1)
      const after = yield* repo.webhook(webhook.id)
      expect(after.version).toBe(3)
      expect([after.paused_at, after.paused_by, after.paused_reason]).toEqual([undefined, undefined, undefined])
      expect(yield* alertsOf).toEqual([{ ...alert, state: "resolved", resolved_at: at(5) }])
      const both = ["alert.resolved", "alert.firing"]
      expect([yield* sentTo(destination.id), yield* sentTo(onlyEnds.id)]).toEqual([both, ["alert.resolved"]])
      expect(yield* isDue(webhook.id)).toBeUndefined()
      const { data } = yield* repo.auditEvents({ object: webhook.id, limit: 10 })
      expect(data.map(({ action, actor, after }) => [action, actor, after?.paused_reason])).toEqual([
        ["webhook.resumed", "automatic", null],
        ["webhook.paused", "automatic", "3 runs failed in a row"]
      ])
    })
  )

  test(
    "a paused webhook is due again after a success, even of a run from before, or when its limit is removed",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited()
      yield* endRun(webhook, 1, failure("No"))
      yield* endRun(webhook, 2, failure("No"))
      yield* pauseDue(webhook.id, 3)
      yield* endRun({ ...webhook, version: 2 }, 4, failure("No"))
      yield* endRun({ ...webhook, version: 2 }, 5, outcomes.cancelled)
      expect(yield* isDue(webhook.id)).toBeUndefined()
      yield* endRun({ ...webhook, version: 2 }, 6, success("Yes"))
      expect(yield* isDue(webhook.id)).toEqual({ webhook_id: webhook.id, version: 2 })
      yield* repo.resumeWebhook(webhook.id, at(7))
      yield* endRun({ ...webhook, version: 3 }, 8, failure("No"))
      expect(yield* isDue(webhook.id)).toBeUndefined()
      yield* endRun({ ...webhook, version: 3 }, 9, failure("No"))
      expect(yield* pauseDue(webhook.id, 10)).toBe(2)
      yield* repo.updateWebhook(webhook.id, { pause_after_failures: null, updated_at: at(11) })
      expect(yield* isDue(webhook.id)).toEqual({ webhook_id: webhook.id, version: 5 })
    })
  )

  test(
    "a webhook that is paused again within the hour sends nothing, and an hour after the last message it does",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited({ pause_after_failures: 1 })
      const other = yield* limited({ name: "another", pause_after_failures: 1 })
      const destination = yield* newDestination(undefined, { events: ["alert.firing", "alert.resolved"] })
      const sent = Effect.map(repo.deliveries({ owner: null, destination_id: destination.id, limit: 10 }), ({ data }) =>
        data.map(({ event }) => event).toReversed()
      )
      const flap = (of: typeof webhook, ms: number) =>
        Effect.gen(function* () {
          yield* endRun({ ...of, version: (yield* repo.webhook(of.id)).version }, ms, failure("No"))
          yield* pauseDue(of.id, ms + 1)
          yield* repo.resumeWebhook(of.id, at(ms + 2))
        })
      yield* flap(webhook, 1)
      yield* flap(webhook, 1_000)
      yield* flap(webhook, 3_599_000)
      const both = ["alert.firing", "alert.resolved"]
      expect(yield* sent).toEqual(both)
      yield* flap(other, 3_599_100)
      yield* flap(webhook, 3_600_100)
      expect(yield* sent).toEqual([...both, ...both, ...both])
      expect(yield* repo.alerts({ webhook_id: webhook.id, limit: 10 })).toHaveLength(4)
    })
  )

  test(
    "the alert of a paused webhook moves with it to another team, but not once it is over",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited()
      const other = team("moved")
      yield* repo.createTeam(other, at(0))
      yield* endRun(webhook, 1, failure("No"))
      yield* endRun(webhook, 2, failure("No"))
      yield* pauseDue(webhook.id, 3)
      const alertsOf = (owner: typeof other) => repo.alerts({ owners: [owner], webhook_id: webhook.id, limit: 10 })
      expect(yield* alertsOf(ops)).toHaveLength(1)
      yield* repo.updateWebhook(webhook.id, { team: other, name: "renamed", updated_at: at(4) })
      expect(yield* alertsOf(ops)).toEqual([])
      expect(yield* alertsOf(other)).toMatchObject([{ team: other, name: "renamed", state: "firing" }])
      yield* repo.resumeWebhook(webhook.id, at(5))
      yield* repo.updateWebhook(webhook.id, { team: ops, updated_at: at(6) })
      expect(yield* alertsOf(ops)).toEqual([])
      expect(yield* alertsOf(other)).toMatchObject([{ state: "resolved" }])
    })
  )

  test(
    "the alert of a paused webhook ends when it is deleted, which is sent",
    Effect.gen(function* () {
      const repo = yield* Repo
      const webhook = yield* limited()
      const destination = yield* newDestination(undefined, { events: ["alert.firing", "alert.resolved"] })
      yield* endRun(webhook, 1, failure("No"))
      yield* endRun(webhook, 2, failure("No"))
      yield* pauseDue(webhook.id, 3)
      yield* repo.deleteWebhook(webhook.id, { audit: draft("webhook.deleted", 4) })
      const over = { state: "resolved", resolved_at: at(4) }
      expect(yield* repo.alerts({ webhook_id: webhook.id, limit: 10 })).toMatchObject([over])
      const { data } = yield* repo.deliveries({ owner: null, destination_id: destination.id, limit: 10 })
      expect(data.map(({ event }) => event)).toEqual(["alert.resolved", "alert.firing"])
      expect(yield* isDue(webhook.id)).toBeUndefined()
      expect(yield* repo.resumeWebhook(webhook.id, at(4))).toBe(false)
    })
  )
}
