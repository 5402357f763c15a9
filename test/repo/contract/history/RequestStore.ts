import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { makeWebhookId, runIdAt, type WebhookId } from "../../../../src/domain/Id.ts"
import type { ReceivedRequest, RequestKind } from "../../../../src/domain/request/ReceivedRequest.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { at, count, createWebhook, epoch, requestTo } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

const keep = (refused: number, accepted = 0, ignored = 0) => ({ refused, ignored, accepted })

const listed = (id: WebhookId, since: number, kinds: ReadonlyArray<RequestKind>, shown = 99) =>
  Effect.flatMap(Repo, (repo) => repo.requests(id, at(since), { kinds, shown }))

const refused = (id: WebhookId, since: number) => listed(id, since, ["refused"])

export const requestStore = (test: Test): void => {
  test("returns what was recorded of the webhook since a time, newest first and in full", function* () {
    const repo = yield* Repo
    const { id } = yield* createWebhook()
    const other = yield* createWebhook()
    const full = requestTo(id, 2, { body: '{"a":"ü\\n"}', repeats: 7, size: 8_000_000_000 })
    const first = requestTo(id, 1)
    yield* repo.recordRequests([requestTo(id, 0), first, full, requestTo(other.id, 3)], keep(100))
    expect(yield* refused(id, 1)).toEqual([full, first])
    expect(yield* refused(yield* makeWebhookId, 0)).toEqual([])
  })

  test("keeps a number of each webhook's newest", function* () {
    const repo = yield* Repo
    const [busy, quiet] = [yield* createWebhook(), yield* createWebhook()]
    yield* repo.recordRequests([requestTo(quiet.id, 0)], keep(3))
    for (const n of [0, 1])
      yield* repo.recordRequests(
        count(5).map((i) => requestTo(busy.id, n * 5 + i)),
        keep(3)
      )
    expect((yield* refused(busy.id, 0)).map(({ received_at }) => received_at)).toEqual([at(9), at(8), at(7)])
    expect(yield* refused(quiet.id, 0)).toHaveLength(1)
  })

  test("keeps accepted and ignored requests beside the refused ones, as many of each as are wanted, and shows each in full", function* () {
    const repo = yield* Repo
    const [webhook, other] = [yield* createWebhook(), yield* createWebhook()]
    const accepted = (ms: number, fields: Partial<ReceivedRequest> = {}) =>
      requestTo(webhook.id, ms, { status: 202, code: "accepted", detail: "", ...fields })
    const full = accepted(7, {
      run_id: runIdAt(epoch),
      body: '{"ref":"ü\u0000"}',
      headers: { "x-event": "pushed" },
      query: { a: ["1", "2"], "b\u0000": "c" }
    })
    const ignored = (ms: number) => accepted(ms, { status: 200, code: "ignored", detail: "`a` does not hold." })
    const [lastIgnored, goneIgnored] = [ignored(9), ignored(8)]
    const [lost, newest, gone] = [requestTo(webhook.id, 1), requestTo(webhook.id, 2), accepted(4)]
    const kept = keep(1, 2, 1)
    yield* repo.recordRequests([lost, newest, gone, ignored(5), ...count(4).map((n) => accepted(n))], kept)
    yield* repo.recordRequests([full, accepted(6), goneIgnored, lastIgnored], kept)
    const { headers: _, query: __, ...summary } = full
    const all = yield* listed(webhook.id, 0, ["refused", "ignored", "accepted"], 3)
    expect(all.map(({ received_at }) => received_at)).toEqual([at(9), at(7), at(6), at(2)])
    expect(all.slice(0, 2)).toEqual([lastIgnored, { ...summary, body: '{"r' }])
    expect(yield* listed(webhook.id, 0, ["refused", "ignored"])).toEqual([lastIgnored, newest])
    expect(yield* refused(webhook.id, 0)).toEqual([newest])
    const stored = { ...full, body: full.body!.replace("\u0000", "\ufffd") }
    expect(yield* repo.request(webhook.id, full.request_id)).toEqual(stored)
    for (const missing of [repo.request(other.id, full.request_id), repo.request(webhook.id, gone.request_id)]) {
      expect(yield* Effect.flip(missing)).toMatchObject({ _tag: "NotFound" })
    }
  })

  test("adds up the ignored requests of each webhook by period, until it forgets a period or the webhook is deleted", function* () {
    const repo = yield* Repo
    const [busy, other] = [yield* createWebhook(), yield* createWebhook()]
    const of = (webhook_id: WebhookId, ms: number, count: number) => ({ webhook_id, begins_at: at(ms), count })
    yield* repo.countIgnored([of(busy.id, 0, 3), of(other.id, 0, 1), of(yield* makeWebhookId, 0, 1)])
    yield* repo.countIgnored([of(busy.id, 0, 4), of(busy.id, 10, 8_000_000_000)])
    const ignored = (id: WebhookId, since: number) => repo.ignored(id, at(since))
    expect([yield* ignored(busy.id, 0), yield* ignored(busy.id, 1)]).toEqual([8_000_000_007, 8_000_000_000])
    expect([yield* ignored(other.id, 0), yield* ignored(other.id, 1)]).toEqual([1, 0])
    yield* repo.forgetRequests(at(10))
    expect([yield* ignored(busy.id, 0), yield* ignored(other.id, 0)]).toEqual([8_000_000_000, 0])
    yield* repo.deleteWebhook(busy.id)
    expect(yield* ignored(busy.id, 0)).toBe(0)
  })

  test("forgets what is older than a time, and those of a webhook with it", function* () {
    const repo = yield* Repo
    const [kept, deleted] = [yield* createWebhook(), yield* createWebhook()]
    yield* repo.recordRequests([requestTo(kept.id, 0), requestTo(kept.id, 10), requestTo(deleted.id, 10)], keep(9))
    yield* repo.forgetRequests(at(10))
    expect((yield* refused(kept.id, 0)).map(({ received_at }) => received_at)).toEqual([at(10)])
    yield* repo.deleteWebhook(deleted.id)
    yield* repo.recordRequests([requestTo(deleted.id, 20), requestTo(kept.id, 20)], keep(9))
    expect(yield* refused(deleted.id, 0)).toEqual([])
    expect(yield* refused(kept.id, 0)).toHaveLength(2)
  })
}
