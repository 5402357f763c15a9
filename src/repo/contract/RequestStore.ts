import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { makeWebhookId, runIdAt, type WebhookId } from "../../domain/Id.ts"
import type { ReceivedRequest } from "../../domain/ReceivedRequest.ts"
import { Repo } from "../Repo.ts"
import { at, count, createWebhook, epoch } from "./fixtures.ts"
import type { Test } from "./RepoContract.ts"

const requestTo = (webhook_id: WebhookId, ms: number, fields: Partial<ReceivedRequest> = {}): ReceivedRequest => ({
  request_id: runIdAt(epoch + ms),
  webhook_id,
  received_at: at(ms),
  status: 422,
  code: "missing_variables",
  detail: "Without a value: a.",
  client_address: "192.0.2.1",
  size: 12,
  repeats: 0,
  ...fields
})

export const requestStore = (test: Test): void => {
  test(
    "returns what was recorded of the webhook since a time, newest first and in full",
    Effect.gen(function* () {
      const repo = yield* Repo
      const { id } = yield* createWebhook()
      const other = yield* createWebhook()
      const full = requestTo(id, 2, { body: '{"a":"ü\\n"}', repeats: 7, size: 8_000_000_000 })
      const first = requestTo(id, 1)
      yield* repo.recordRequests([requestTo(id, 0), first, full, requestTo(other.id, 3)], 100)
      expect(yield* repo.requests(id, at(1))).toEqual([full, first])
      expect(yield* repo.requests(yield* makeWebhookId, at(0))).toEqual([])
    })
  )

  test(
    "keeps a number of each webhook's newest",
    Effect.gen(function* () {
      const repo = yield* Repo
      const [busy, quiet] = [yield* createWebhook(), yield* createWebhook()]
      yield* repo.recordRequests([requestTo(quiet.id, 0)], 3)
      for (const n of [0, 1])
        yield* repo.recordRequests(
          count(5).map((i) => requestTo(busy.id, n * 5 + i)),
          3
        )
      expect((yield* repo.requests(busy.id, at(0))).map(({ received_at }) => received_at)).toEqual([
        at(9),
        at(8),
        at(7)
      ])
      expect(yield* repo.requests(quiet.id, at(0))).toHaveLength(1)
    })
  )

  test(
    "forgets what is older than a time, and those of a webhook with it",
    Effect.gen(function* () {
      const repo = yield* Repo
      const [kept, deleted] = [yield* createWebhook(), yield* createWebhook()]
      yield* repo.recordRequests([requestTo(kept.id, 0), requestTo(kept.id, 10), requestTo(deleted.id, 10)], 9)
      yield* repo.forgetRequests(at(10))
      expect((yield* repo.requests(kept.id, at(0))).map(({ received_at }) => received_at)).toEqual([at(10)])
      yield* repo.deleteWebhook(deleted.id)
      yield* repo.recordRequests([requestTo(deleted.id, 20), requestTo(kept.id, 20)], 9)
      expect(yield* repo.requests(deleted.id, at(0))).toEqual([])
      expect(yield* repo.requests(kept.id, at(0))).toHaveLength(2)
    })
  )
}
