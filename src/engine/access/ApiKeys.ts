import { Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import { type ApiKey, ApiKeyDraft } from "../../domain/access/ApiKey.ts"
import { type Fault, Invalid, type NotFound, type Unavailable } from "../../domain/Errors.ts"
import { type ApiKeyId, makeApiKeyId, type WebhookId } from "../../domain/Id.ts"
import { apiKeyIdOf } from "../../domain/ParsedId.ts"
import { validate } from "../../domain/Validation.ts"
import { secretHintOf } from "../../domain/webhook/SecretHint.ts"
import { ApiKeyStore } from "../../repo/access/ApiKeyStore.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { hashOf, isSecretShaped, makeSecret } from "../verify/Secret.ts"
import * as Audit from "./Audit.ts"

/** The time between two recorded uses, so that few requests need a statement for it. */
const useInterval = Duration.minutes(1)

/** A new key, with the secret itself, which is not stored. */
interface NewApiKey {
  readonly api_key: ApiKey
  readonly key: Redacted.Redacted
}

/** Why a key does not work any longer. */
type Void = "revoked" | "expired"

/**
 * The named keys of the management API and the web UI. Each request reads its key's row: a key that was revoked does not
 * work for the next request, on any server.
 */
export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** From an unchecked draft. Lists every fault. */
    readonly create: (draft: unknown) => Effect.Effect<NewApiKey, Invalid | Unavailable>
    /** Oldest first, also revoked and expired ones. */
    readonly list: Effect.Effect<ReadonlyArray<ApiKey>, Unavailable>
    /** Ends the sessions that were begun with the key, too. */
    readonly revoke: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** The key with this secret; counts as its use if it works. */
    readonly find: (key: Redacted.Redacted) => Effect.Effect<Option.Option<ApiKey>, Unavailable>
    /** The same by its ID. */
    readonly findById: (id: ApiKeyId) => Effect.Effect<Option.Option<ApiKey>, Unavailable>
  }
>()("webhook-trigger/ApiKeys") {
  static readonly layer: Layer.Layer<ApiKeys, never, ApiKeyStore | TeamStore | WebhookStore> = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const store = yield* ApiKeyStore
      const teams = yield* TeamStore
      const { webhook } = yield* WebhookStore
      const byHash = yield* GroupCommit.make({ size: 500, commit: store.apiKeysByHash })
      const byId = yield* GroupCommit.make({ size: 500, commit: store.apiKeysById })

      /** The uses that this process has recorded. Without them, a thousand first requests would each change the row. */
      const uses = new RecentMap<ApiKeyId, DateTime.Utc>(1_000)

      const faultsBeyondSchema = ({ expires_at, role, teams: limit, webhooks }: ApiKeyDraft) =>
        Effect.gen(function* () {
          const faults: Array<Fault> = []
          if (expires_at !== undefined && (yield* DateTime.isPast(expires_at))) {
            faults.push({ pointer: "/expires_at", detail: "must be in the future" })
          }
          if (limit !== undefined && role === "auditor") {
            faults.push({ pointer: "/teams", detail: "must be absent, because the audit log covers all teams" })
          }
          if (webhooks !== undefined && role !== "caller") {
            faults.push({
              pointer: "/webhooks",
              detail: "must be absent unless the role is `caller`"
            })
          }
          for (const [index, id] of (webhooks ?? []).entries()) {
            yield* Effect.catchTag(webhook(lowerCase(id)), "NotFound", () =>
              Effect.sync(() => faults.push({ pointer: `/webhooks/${index}`, detail: "there is no such webhook" }))
            )
          }
          for (const [index, team] of (limit ?? []).entries()) {
            yield* Effect.catchTag(teams.team(team), "NotFound", () =>
              Effect.sync(() => faults.push({ pointer: `/teams/${index}`, detail: "there is no such team" }))
            )
          }
          return faults
        })

      const create = Effect.fn("ApiKeys.create")(function* (draft: unknown) {
        const decoded = yield* decodeDraft(draft)
        const faults = yield* faultsBeyondSchema(decoded)
        if (faults.length > 0) return yield* new Invalid({ faults })
        const key = makeSecret("whp_")
        const api_key: ApiKey = {
          ...decoded,
          ...(decoded.teams && { teams: [...new Set(decoded.teams)] }),
          ...(decoded.webhooks && { webhooks: [...new Set(decoded.webhooks.map(lowerCase))] }),
          id: yield* makeApiKeyId,
          hint: secretHintOf(key),
          created_at: yield* DateTime.now,
          created_by: Audit.nameOf(yield* Audit.Origin)
        }
        yield* store.createApiKey({ ...api_key, key_hash: hashOf(key) }, yield* Audit.draft("api_key.created"))
        return { api_key, key: Redacted.make(key) }
      })

      const used = Effect.fnUntraced(function* (key: ApiKey | undefined) {
        if (key === undefined || Option.isSome(voidBecause(key, yield* DateTime.now))) return
        const now = yield* DateTime.now
        const isRecent = (use: DateTime.Utc | undefined) =>
          use !== undefined && Duration.isLessThan(DateTime.distance(use, now), useInterval)
        if (isRecent(key.last_used_at) || isRecent(uses.get(key.id))) return
        uses.set(key.id, now)
        // The key was read, so it works. A later request records its use.
        yield* Effect.catchTag(store.recordApiKeyUse(key.id, now), "Unavailable", () => Effect.void)
      })

      return ApiKeys.of({
        create,
        list: store.apiKeys,
        revoke: Effect.fn("ApiKeys.revoke")(function* (given: string) {
          const id = yield* apiKeyIdOf(given)
          yield* store.revokeApiKey(id, yield* DateTime.now, yield* Audit.draft("api_key.revoked"))
        }),
        find: Effect.fn("ApiKeys.find")(function* (given: Redacted.Redacted) {
          const text = Redacted.value(given)
          if (!isKeyShaped(text)) return Option.none()
          const [key] = yield* byHash([hashOf(text)])
          yield* used(key)
          return Option.fromNullishOr(key)
        }),
        findById: Effect.fn("ApiKeys.findById")(function* (id: ApiKeyId) {
          const [key] = yield* byId([id])
          yield* used(key)
          return Option.fromNullishOr(key)
        })
      })
    })
  )
}

/** As IDs are stored. */
const lowerCase = (id: WebhookId) => id.toLowerCase() as WebhookId

const decodeDraft = validate(ApiKeyDraft)

/** Why the key does not work; none: it works. */
export const voidBecause = (
  { expires_at, revoked_at }: Pick<ApiKey, "expires_at" | "revoked_at">,
  now: DateTime.Utc
): Option.Option<Void> => {
  if (revoked_at !== undefined) return Option.some("revoked")
  return expires_at !== undefined && DateTime.isLessThanOrEqualTo(expires_at, now)
    ? Option.some("expired")
    : Option.none()
}

/** Anything else needs no lookup. */
export const isKeyShaped = (text: string): boolean => isSecretShaped("whp_", text)
