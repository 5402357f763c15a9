import { DateTime, Effect, Redacted, type Scope, Struct } from "effect"
import { NotFound, type Unavailable } from "../../domain/Errors.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import type { OpenedWebhook, WebhookRow } from "../../domain/webhook/Webhook.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { hashToken, isTokenShaped, type Token } from "../verify/Token.ts"

/** Webhooks by their tokens. */
export interface WebhookCache {
  /** Reads the enabled webhook with this token. */
  readonly current: (token: Token) => Effect.Effect<OpenedWebhook, NotFound | Unavailable>
  /**
   * The same, from memory if possible, so it may be out of date. An acceptance compares the webhook's version. Any other
   * decision needs `refresh`.
   */
  readonly recent: (token: Token) => Effect.Effect<OpenedWebhook, NotFound | Unavailable>
  /** Reads the webhook again, by the same token. */
  readonly refresh: (webhook: WebhookRow) => Effect.Effect<OpenedWebhook, NotFound | Unavailable>
}

/** False turns this off (decision 0004): every request reads its webhook. */
const isEnabled: boolean = true

/** Webhooks in memory, at most. */
const capacity = 20_000

export const make: Effect.Effect<WebhookCache, never, ChangeFeed | Scope.Scope | WebhookStore> = Effect.gen(
  function* () {
    const store = yield* WebhookStore
    const feed = yield* ChangeFeed
    const byHash = new RecentMap<string, OpenedWebhook>(capacity)
    const keyOf = (hash: TokenHash) => Buffer.from(hash).toString("base64")

    const readTogether = yield* GroupCommit.make({
      size: 500,
      commit: (hashes: ReadonlyArray<TokenHash>) =>
        Effect.flatMap(DateTime.now, (now) => store.webhooksByToken(hashes, now))
    })
    const read = (hash: TokenHash) =>
      Effect.flatMap(readTogether([hash]), ([webhook]) => {
        const key = keyOf(hash)
        if (!webhook?.enabled) {
          byHash.delete(key)
          return Effect.fail(new NotFound({ disabled_webhook: webhook && Struct.pick(webhook, ["id", "team"]) }))
        }
        byHash.set(key, webhook)
        return Effect.succeed(webhook)
      })

    // Without this the next acceptance would find the old version, and need a second attempt.
    yield* feed.listen((changes) => {
      const changed = new Set(
        changes.flatMap((change) => (change._tag === "WebhookChanged" ? [change.webhook_id] : []))
      )
      if (changed.size === 0) return
      for (const [key, { id, shared_by = [] }] of byHash) {
        if (changed.has(id) || shared_by.some(({ id }) => changed.has(id))) byHash.delete(key)
      }
    })

    const shaped = (token: Token, find: (hash: TokenHash) => Effect.Effect<OpenedWebhook, NotFound | Unavailable>) =>
      isTokenShaped(Redacted.value(token)) ? find(hashToken(token)) : Effect.fail(new NotFound())

    return {
      current: (token) => shaped(token, read),
      recent: (token) =>
        shaped(token, (hash) => {
          const known = isEnabled ? byHash.get(keyOf(hash)) : undefined
          return known === undefined ? read(hash) : Effect.succeed(known)
        }),
      refresh: ({ token_hash }) => read(token_hash)
    }
  }
)
