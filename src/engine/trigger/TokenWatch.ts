import { Effect, type Scope } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import type { ChangeFeed } from "../../repo/ChangeFeed.ts"
import * as Watched from "../Watched.ts"
import type { WebhookCache } from "./WebhookCache.ts"

/**
 * Calls back when the token no longer opens the webhook: the token was replaced or has expired, or the webhook was disabled,
 * deleted or moved to another team; perhaps more than once. Returns a function that stops watching.
 */
type TokenWatch = (webhook: WebhookRow, onClosed: () => void) => () => void

const movedAt = ({ moved_at }: WebhookRow): number | undefined => moved_at?.epochMilliseconds

export const make = (cache: WebhookCache): Effect.Effect<TokenWatch, never, ChangeFeed | Scope.Scope> =>
  Effect.gen(function* () {
    const check = ({ listeners, subject }: Watched.Entry<WebhookRow, () => void>) =>
      cache.refresh(subject).pipe(
        Effect.filterOrFail(
          (webhook) => movedAt(webhook) === movedAt(subject),
          () => new NotFound()
        ),
        Effect.catchTag("NotFound", () => Effect.sync(() => listeners.forEach((onClosed) => onClosed()))),
        // While the database is out of reach, nothing is decided.
        Effect.ignore
      )
    const tokens = yield* Watched.make<string, WebhookRow, () => void>({
      atOnce: Number.POSITIVE_INFINITY,
      concerned: (changes, entries) => {
        const changed = new Set<string>()
        for (const change of changes) if (change._tag === "WebhookChanged") changed.add(change.webhook_id)
        return changed.size === 0 ? [] : [...entries.values()].filter(({ subject }) => changed.has(subject.id))
      },
      look: (some) => Effect.forEach(some, check, { concurrency: "unbounded", discard: true })
    })
    return (webhook, onClosed) =>
      tokens.add(`${Buffer.from(webhook.token_hash).toString("base64")} ${movedAt(webhook)}`, webhook, onClosed)
  })
