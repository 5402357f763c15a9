import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { EditConflict, NotFound, TeamUnknown, Unavailable, UrlShared } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { TemplateVersion, TemplateVersionSummary } from "../../domain/prompt/TemplateVersion.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import type { OpenedWebhook, Webhook, WebhookEdit, WebhookRow } from "../../domain/webhook/Webhook.ts"

/** A new webhook. */
export type NewWebhook = Omit<WebhookRow, "version">

/** Fields to overwrite; `null` removes an optional one. */
export type WebhookChange = Omit<WebhookEdit, "secret" | "keep_old_secret"> &
  Partial<Pick<WebhookRow, "variables" | "token_hash" | "failures_since">> & {
    readonly token_hint?: string | null
  } & OldToken &
  SecretChange & { readonly updated_at: DateTime.Utc }

type SecretField =
  | "sealed_secret"
  | "secret_hint"
  | "secret_set_at"
  | "old_sealed_secret"
  | "old_secret_hint"
  | "verified_at"

/** The secrets of callers' verification, and whether they exist. */
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

/** The previous token. */
type OldToken = { readonly [Field in OldTokenField]?: WebhookRow[Field] | null }

/** A webhook that shares the URL of another one. */
export type SharingWebhook = Pick<Webhook, "name" | "team" | "input">

/** No previous token is valid. */
export const noOldToken: { readonly [Field in OldTokenField]: null } = {
  old_token_hash: null,
  old_token_hint: null,
  old_token_valid_until: null,
  old_token_used_at: null,
  old_token_used_from: null
}

/** A use of a replaced token that is still valid. */
export interface OldTokenUse {
  readonly webhook_id: WebhookId
  readonly old_token_hash: TokenHash
  readonly old_token_used_at: DateTime.Utc
  readonly old_token_used_from: string
}

/** The first verified request of a webhook's version. */
export interface FirstVerified extends Pick<WebhookRow, "version"> {
  readonly webhook_id: WebhookId
  readonly verified_at: DateTime.Utc
}

/**
 * The webhooks, for management and for authentication by token. With a draft, a change writes its audit event in the
 * same commit: what people had set before and after, without secrets. A new template is stored with its author.
 */
export class WebhookStore extends Context.Service<
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
     * The webhooks of the tokens that are valid at that time, in the order of the hashes, disabled ones too; `undefined`:
     * none. The `token_hash` of each is the one it was found by, even if that is its old one.
     */
    readonly webhooksByToken: (
      hashes: ReadonlyArray<TokenHash>,
      now: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<OpenedWebhook | undefined>, Unavailable>
    /** The webhooks that share its URL, disabled ones too, by name. */
    readonly sharing: (id: WebhookId) => Effect.Effect<ReadonlyArray<SharingWebhook>, Unavailable>
    /** For an admin, who may trigger a webhook without its token. */
    readonly webhookRow: (id: WebhookId) => Effect.Effect<WebhookRow, NotFound | Unavailable>
    /** Changes it, and gives it a new version. With `versions`, only if it has one of these. */
    readonly updateWebhook: (
      id: WebhookId,
      change: WebhookChange,
      options?: { readonly versions?: ReadonlyArray<number> | undefined; readonly audit?: AuditDraft }
    ) => Effect.Effect<Webhook, EditConflict | NotFound | TeamUnknown | Unavailable>
    /** Its newest `templatesKept` templates, the current one first. */
    readonly templates: (id: WebhookId) => Effect.Effect<ReadonlyArray<TemplateVersionSummary>, NotFound | Unavailable>
    /** Its template in that version, if stored. */
    readonly template: (id: WebhookId, version: number) => Effect.Effect<TemplateVersion, NotFound | Unavailable>
    /** Records the last use of an old token. This does not change the webhook's version. */
    readonly oldTokensUsed: (uses: ReadonlyArray<OldTokenUse>) => Effect.Effect<void, Unavailable>
    /**
     * Sets `verified_at` of webhooks that have none and are still in that version. The version does not change, but
     * others are notified.
     */
    readonly verified: (first: ReadonlyArray<FirstVerified>) => Effect.Effect<void, Unavailable>
    /** Pauses an enabled webhook that still has this version. Returns whether it did. The pause is a new version. */
    readonly pauseWebhook: (
      id: WebhookId,
      pause: { readonly version: number; readonly at: DateTime.Utc; readonly reason: string },
      audit?: AuditDraft
    ) => Effect.Effect<boolean, Unavailable>
    /**
     * Resumes a paused webhook as a new version, and returns whether it was paused. The runs kept meanwhile join their lane, and
     * earlier failures count no longer.
     */
    readonly resumeWebhook: (id: WebhookId, at: DateTime.Utc, audit?: AuditDraft) => Effect.Effect<boolean, Unavailable>
    /**
     * Removes the webhook and its runs. Returns the unfinished ones, those first that were sent. With `versions`, only if it
     * has one of these; its ended runs may be removed although an edit comes in between. `UrlShared`: another webhook has
     * begun to share its URL.
     */
    readonly deleteWebhook: (
      id: WebhookId,
      options?: { readonly versions?: ReadonlyArray<number> | undefined; readonly audit?: AuditDraft | undefined }
    ) => Effect.Effect<ReadonlyArray<Pick<Run, "run_id" | "team">>, EditConflict | NotFound | UrlShared | Unavailable>
  }
>()("webhook-trigger/WebhookStore") {}
