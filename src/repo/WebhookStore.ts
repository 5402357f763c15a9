import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../domain/AuditEvent.ts"
import type { ChangedMeanwhile, NotFound, TeamUnknown, Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { TokenHash } from "../domain/Token.ts"
import type { Webhook, WebhookEdit, WebhookRow } from "../domain/Webhook.ts"

/** A webhook as it is created. */
export type NewWebhook = Omit<WebhookRow, "version">

/** Fields to overwrite; `null` removes an optional one. */
export type WebhookChange = WebhookEdit &
  Partial<Pick<WebhookRow, "variables" | "token_hash" | "token_hint">> & { readonly updated_at: DateTime.Utc }

/**
 * Webhooks as people manage them, and as a token opens them. With a draft, a change writes its audit event in the same
 * commit: what people had set before and after, without secrets.
 */
export class WebhookStore extends Context.Tag("webhook-trigger/WebhookStore")<
  WebhookStore,
  {
    readonly createWebhook: (
      webhook: NewWebhook,
      audit?: AuditDraft
    ) => Effect.Effect<Webhook, TeamUnknown | Unavailable>
    /** All webhooks, by name. */
    readonly webhooks: Effect.Effect<ReadonlyArray<Webhook>, Unavailable>
    readonly webhook: (id: WebhookId) => Effect.Effect<Webhook, NotFound | Unavailable>
    /** The enabled webhooks with these tokens, in the order of the hashes; `undefined`: none. */
    readonly webhooksByToken: (
      hashes: ReadonlyArray<TokenHash>
    ) => Effect.Effect<ReadonlyArray<WebhookRow | undefined>, Unavailable>
    /** For an admin, who may trigger a webhook without its token. */
    readonly webhookRow: (id: WebhookId) => Effect.Effect<WebhookRow, NotFound | Unavailable>
    /** Gives it another version. With `versions`, only when it has one of these. */
    readonly updateWebhook: (
      id: WebhookId,
      change: WebhookChange,
      options?: { readonly versions?: ReadonlyArray<number> | undefined; readonly audit?: AuditDraft }
    ) => Effect.Effect<Webhook, ChangedMeanwhile | NotFound | TeamUnknown | Unavailable>
    /** Removes the webhook and its runs; returns the ids of those that were not finished. */
    readonly deleteWebhook: (
      id: WebhookId,
      audit?: AuditDraft
    ) => Effect.Effect<ReadonlyArray<RunId>, NotFound | Unavailable>
  }
>() {}
