import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { noOldToken } from "../../../../src/repo/manage/WebhookStore.ts"
import { Repo } from "../../../../src/repo/Repo.ts"
import { acceptOne, at, count, createWebhook, newRun, newTokenHash } from "../fixtures.ts"
import type { Test } from "../RepoContract.ts"

export const tokens = (test: Test): void => {
  test("finds a webhook by its token while the token is valid, also while the webhook is disabled", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const find = (hash: Uint8Array) => Effect.map(repo.webhooksByToken([hash], at(9)), ([row]) => row)
    const idOf = (hash: Uint8Array) => Effect.map(find(hash), (row) => row?.id)
    expect(yield* find(webhook.token_hash)).toMatchObject({ id: webhook.id, enabled: true })
    yield* repo.updateWebhook(webhook.id, { enabled: false, updated_at: at(1) })
    expect(yield* find(webhook.token_hash)).toMatchObject({ id: webhook.id, enabled: false })
    yield* repo.updateWebhook(webhook.id, { enabled: true, updated_at: at(2) })
    const token_hash = yield* newTokenHash
    const replaced = yield* repo.updateWebhook(webhook.id, { token_hash, token_hint: "…new1", updated_at: at(3) })
    expect(replaced).toMatchObject({ token_hint: "…new1", updated_at: at(3) })
    expect(yield* idOf(webhook.token_hash)).toBe(undefined)
    expect(yield* idOf(token_hash)).toBe(webhook.id)
    expect((yield* repo.webhookRow(webhook.id)).token_hash).toEqual(token_hash)
    yield* repo.deleteWebhook(webhook.id)
    expect(yield* idOf(token_hash)).toBe(undefined)
  })

  test("finds a webhook by the token before as well, until its time is over, and accepts runs by it", function* () {
    const repo = yield* Repo
    const webhook = yield* createWebhook()
    const other = yield* createWebhook()
    const token_hash = yield* newTokenHash
    const old_token_hash = webhook.token_hash
    const { version } = yield* repo.updateWebhook(webhook.id, {
      ...{ token_hash, old_token_hash, old_token_hint: "…old1", old_token_valid_until: at(10), updated_at: at(1) }
    })
    const [current, old, unknown] = yield* repo.webhooksByToken(
      [token_hash, old_token_hash, yield* newTokenHash, other.token_hash],
      at(9)
    )
    expect([current?.id, old?.id, unknown]).toEqual([webhook.id, webhook.id, undefined])
    expect([current?.token_hash, old?.token_hash]).toEqual([token_hash, old_token_hash])
    expect(yield* repo.webhooksByToken([old_token_hash], at(10))).toEqual([undefined])

    const target = { ...webhook, version, token_hash: old_token_hash }
    expect(yield* acceptOne(yield* newRun(target, { accepted_at: at(9) }))).toMatchObject({ _tag: "Accepted" })
    const late = yield* Effect.flip(acceptOne(yield* newRun(target, { accepted_at: at(10) })))
    expect(late._tag).toBe("NotFound")

    const use = { webhook_id: webhook.id, old_token_used_at: at(5), old_token_used_from: "192.0.2.1" }
    yield* repo.oldTokensUsed([
      { ...use, old_token_hash },
      { ...use, webhook_id: other.id, old_token_hash }
    ])
    expect(yield* repo.webhook(webhook.id)).toMatchObject({
      version,
      old_token_used_at: at(5),
      old_token_hint: "…old1"
    })
    expect(yield* repo.webhook(other.id)).not.toHaveProperty("old_token_used_at")
    yield* repo.updateWebhook(webhook.id, { ...noOldToken, updated_at: at(6) })
    expect(yield* repo.webhooksByToken([old_token_hash], at(5))).toEqual([undefined])
    expect(yield* repo.webhook(webhook.id)).not.toHaveProperty("old_token_hint")
  })

  test("finds the webhooks of many tokens in the order of the tokens, one named twice included", function* () {
    const repo = yield* Repo
    const webhooks = yield* Effect.forEach(count(20), () => createWebhook())
    const hashes = webhooks.map((webhook) => webhook.token_hash)
    const found = yield* repo.webhooksByToken([...hashes, yield* newTokenHash, ...hashes], at(9))
    const ids = webhooks.map((webhook) => webhook.id)
    expect(found.map((webhook) => webhook?.id)).toEqual([...ids, undefined, ...ids])
    expect(yield* repo.webhooksByToken([], at(9))).toEqual([])
  })
}
