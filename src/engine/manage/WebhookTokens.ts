/** Replaces a webhook's token. The old one may stay valid for a while. */
import { DateTime, Duration, Effect } from "effect"
import { UrlShared } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { noOldToken, WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as Audit from "../access/Audit.ts"
import { hashToken, makeToken, type Token, tokenHint } from "../verify/Token.ts"

const hasNone = new UrlShared({
  detail: "It shares the URL of another webhook, so it has no token of its own. Remove `shares` first."
})

export const make = Effect.gen(function* () {
  const store = yield* WebhookStore

  const replaceToken = Effect.fnUntraced(function* (id: WebhookId, token: Token, overlap: Duration.Duration) {
    const before = yield* store.webhookRow(id)
    if (before.shares !== undefined) return yield* hasNone
    const updated_at = yield* DateTime.now
    const change = {
      ...noOldToken,
      ...(Duration.isGreaterThan(overlap, Duration.zero) && {
        old_token_hash: before.token_hash,
        ...(before.token_hint !== undefined && { old_token_hint: before.token_hint }),
        old_token_valid_until: DateTime.addDuration(updated_at, overlap)
      }),
      token_hash: hashToken(token),
      token_hint: tokenHint(token),
      updated_at
    }
    return yield* store.updateWebhook(id, change, {
      versions: [before.version],
      audit: yield* Audit.draft("webhook.token_regenerated")
    })
  })

  const regenerate = Effect.fn("Webhooks.regenerate")(function* (
    id: WebhookId,
    { overlap = Duration.zero }: { readonly overlap?: Duration.Duration } = {}
  ) {
    const token = yield* makeToken
    const webhook = yield* replaceToken(id, token, overlap).pipe(
      // After an edit conflict, the old token may be another one.
      Effect.retry({ while: (error) => error._tag === "EditConflict" }),
      Effect.catchTag("TeamUnknown", Effect.die)
    )
    return { webhook, token }
  })

  const endOldToken = Effect.fn("Webhooks.endOldToken")(function* (id: WebhookId) {
    yield* store
      .updateWebhook(
        id,
        { ...noOldToken, updated_at: yield* DateTime.now },
        { audit: yield* Audit.draft("webhook.edited") }
      )
      .pipe(Effect.catchTags({ EditConflict: Effect.die, TeamUnknown: Effect.die }))
  })

  /** For a webhook that shares another one's URL: a token that nobody has. */
  const none = Effect.map(makeToken, (token) => ({ ...noOldToken, token_hash: hashToken(token), token_hint: null }))

  return { regenerate, endOldToken, none }
})
