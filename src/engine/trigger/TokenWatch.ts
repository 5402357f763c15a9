import { Effect, FiberSet, type Scope } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import type { WebhookCache } from "./WebhookCache.ts"

/**
 * Calls back once, when the token no longer opens the webhook: the token was replaced or has expired, or the webhook was
 * disabled, deleted or moved to another team. Returns a function that stops watching.
 */
type TokenWatch = (webhook: WebhookRow, onClosed: () => void) => () => void

interface Watched {
  readonly webhook: WebhookRow
  readonly listeners: Set<() => void>
}

const movedAt = ({ moved_at }: WebhookRow): number | undefined => moved_at?.epochMilliseconds

/**
 * Each change of a webhook causes a lookup of its watched tokens. All are looked up once a second, since a notification may
 * be missed.
 */
export const make = (cache: WebhookCache): Effect.Effect<TokenWatch, never, ChangeFeed | Scope.Scope> =>
  Effect.gen(function* () {
    const feed = yield* ChangeFeed
    const fork = yield* FiberSet.makeRuntime<never>()
    const watched = new Map<string, Watched>()

    const close = (key: string, entry: Watched) =>
      Effect.sync(() => {
        if (watched.get(key) === entry) watched.delete(key)
        for (const onClosed of entry.listeners) onClosed()
      })
    const check = ([key, entry]: readonly [string, Watched]) =>
      cache.refresh(entry.webhook).pipe(
        Effect.filterOrFail(
          (webhook) => movedAt(webhook) === movedAt(entry.webhook),
          () => new NotFound()
        ),
        Effect.catchTag("NotFound", () => close(key, entry)),
        // While the database is out of reach, nothing is decided.
        Effect.ignore
      )
    const checkThose = (those: ReadonlyArray<readonly [string, Watched]>) =>
      Effect.forEach(those, check, { concurrency: "unbounded", discard: true })

    yield* feed.listen((changes) => {
      if (watched.size === 0) return
      const changed = new Set<string>()
      for (const change of changes) if (change._tag === "WebhookChanged") changed.add(change.webhook_id)
      const those = changed.size === 0 ? [] : [...watched].filter(([, { webhook }]) => changed.has(webhook.id))
      if (those.length > 0) fork(checkThose(those))
    })
    yield* Effect.suspend(() => checkThose([...watched])).pipe(
      Effect.delay("1 second"),
      Effect.forever,
      Effect.forkScoped
    )

    return (webhook, onClosed) => {
      const key = `${Buffer.from(webhook.token_hash).toString("base64")} ${movedAt(webhook)}`
      const entry = watched.get(key) ?? { webhook, listeners: new Set() }
      watched.set(key, entry)
      entry.listeners.add(onClosed)
      return () => {
        entry.listeners.delete(onClosed)
        if (entry.listeners.size === 0 && watched.get(key) === entry) watched.delete(key)
      }
    }
  })
