import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../domain/access/AuditEvent.ts"
import type { ChangedMeanwhile, NotFound, TeamUnknown, Unavailable } from "../domain/Errors.ts"
import type { RunId, WebhookId } from "../domain/Id.ts"
import type { TemplateVersion, TemplateVersionSummary } from "../domain/prompt/TemplateVersion.ts"
import type { TokenHash } from "../domain/webhook/Token.ts"
import type { Webhook, WebhookEdit, WebhookRow } from "../domain/webhook/Webhook.ts"

/** A webhook as it is created. */
export type NewWebhook = Omit<WebhookRow, "version">

/** Fields to overwrite; `null` removes an optional one. */
export type WebhookChange = Omit<WebhookEdit, "secret" | "keep_old_secret"> &
  Partial<Pick<WebhookRow, "variables" | "token_hash" | "token_hint">> &
  OldToken &
  SecretChange & { readonly updated_at: DateTime.Utc }

type SecretField =
  | "sealed_secret"
  | "secret_hint"
  | "secret_set_at"
  | "old_sealed_secret"
  | "old_secret_hint"
  | "verified_at"

/** The secrets with which callers show who they are, and whether one has. */
export type SecretChange = { readonly [Field in SecretField]?: WebhookRow[Field] | null }

/** There is no secret. */
export const noSecrets: { readonly [Field in SecretField]: null } = {
  sealed_secret: null,
  secret_hint: null,
  secret_set_at: null,
  old_sealed_secret: null,
  old_secret_hint: null,
  verified_at: null
}

type OldTokenField = Extract<keyof WebhookRow, `old_token_${string}`>

/** The token before. */
type OldToken = { readonly [Field in OldTokenField]?: WebhookRow[Field] | null }

/** No token before is valid. */
export const noOldToken: { readonly [Field in OldTokenField]: null } = {
  old_token_hash: null,
  old_token_hint: null,
  old_token_valid_until: null,
  old_token_used_at: null,
  old_token_used_from: null
}

/** A call with a token that was replaced, and is still valid. */
export interface OldTokenUse {
  readonly webhook_id: WebhookId
  readonly old_token_hash: TokenHash
  readonly old_token_used_at: DateTime.Utc
  readonly old_token_used_from: string
}

/** The first request that a webhook has verified, in that version. */
export interface FirstVerified extends Pick<WebhookRow, "version"> {
  readonly webhook_id: WebhookId
  readonly verified_at: DateTime.Utc
}

/**
 * Webhooks as people manage them, and as a token opens them. With a draft, a change writes its audit event in the same
 * commit: what people had set before and after, without secrets. Another template is kept with who has set it.
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
    /**
     * The enabled webhooks that these tokens open at that time, in the order of the hashes; `undefined`: none. The
     * `token_hash` of each is the one that it was found by, also if that is its old one.
     */
    readonly webhooksByToken: (
      hashes: ReadonlyArray<TokenHash>,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<WebhookRow | undefined>, Unavailable>
    /** For an admin, who may trigger a webhook without its token. */
    readonly webhookRow: (id: WebhookId) => Effect.Effect<WebhookRow, NotFound | Unavailable>
    /** Gives it another version. With `versions`, only when it has one of these. */
    readonly updateWebhook: (
      id: WebhookId,
      change: WebhookChange,
      options?: { readonly versions?: ReadonlyArray<number> | undefined; readonly audit?: AuditDraft }
    ) => Effect.Effect<Webhook, ChangedMeanwhile | NotFound | TeamUnknown | Unavailable>
    /** The templates that it has had, the newest `templatesKept`; the first is the one that it has. */
    readonly templates: (id: WebhookId) => Effect.Effect<ReadonlyArray<TemplateVersionSummary>, NotFound | Unavailable>
    /** The template that the webhook had in that version, if it is kept. */
    readonly template: (id: WebhookId, version: number) => Effect.Effect<TemplateVersion, NotFound | Unavailable>
    /** Records the last use of an old token. That is no change of the webhook: its version stays. */
    readonly oldTokensUsed: (uses: ReadonlyArray<OldTokenUse>) => Effect.Effect<void, Unavailable>
    /** Sets `verified_at` of those that have none and are still in that version, which stays; others learn that they changed. */
    readonly verified: (first: ReadonlyArray<FirstVerified>) => Effect.Effect<void, Unavailable>
    /** Removes the webhook and its runs; returns the ids of those that were not finished. */
    readonly deleteWebhook: (
      id: WebhookId,
      audit?: AuditDraft
    ) => Effect.Effect<ReadonlyArray<RunId>, NotFound | Unavailable>
  }
>() {}
