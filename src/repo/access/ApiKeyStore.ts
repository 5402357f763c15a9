import { Context, type DateTime, type Effect } from "effect"
import type { ApiKey, ApiKeyRow } from "../../domain/access/ApiKey.ts"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { ApiKeyId } from "../../domain/Id.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"

type Found = Effect.Effect<ReadonlyArray<ApiKey | undefined>, Unavailable>

/** The keys of the management API. With a draft, a change writes its audit event, about the key, in the same commit. */
export class ApiKeyStore extends Context.Service<
  ApiKeyStore,
  {
    readonly createApiKey: (key: ApiKeyRow, audit?: AuditDraft) => Effect.Effect<void, Unavailable>
    /** All keys, also revoked and expired ones, oldest first. */
    readonly apiKeys: Effect.Effect<ReadonlyArray<ApiKey>, Unavailable>
    /** The keys with these hashes, in their order, also revoked and expired ones; `undefined`: none. */
    readonly apiKeysByHash: (hashes: ReadonlyArray<TokenHash>) => Found
    readonly apiKeysById: (ids: ReadonlyArray<ApiKeyId>) => Found
    /** Does nothing if a use was recorded in the minute before `at`, for instance by another process. */
    readonly recordApiKeyUse: (id: ApiKeyId, at: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /** Ends the sessions that were begun with the key, too. `NotFound`: there is none, or it was revoked before. */
    readonly revokeApiKey: (
      id: ApiKeyId,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("webhook-trigger/ApiKeyStore") {}
