import { type Context, DateTime, Effect } from "effect"
import type { ApiKey, ApiKeyRow } from "../../../domain/access/ApiKey.ts"
import { NotFound } from "../../../domain/Errors.ts"
import { ApiKeyStore } from "../../access/ApiKeyStore.ts"
import { sameBytes, storableFields, type Tables } from "../Tables.ts"

const withoutHash = ({ key_hash: _, ...key }: ApiKeyRow): ApiKey => key

const shown = ({ hint, name, role, teams, webhooks }: ApiKey) => ({
  ...{ name, role, ...(teams && { teams }), ...(webhooks && { webhooks }), hint }
})

export const makeApiKeyStore = (tables: Tables): Context.Tag.Service<ApiKeyStore> => {
  const { apiKeys, audit, sessions } = tables
  const find = (matches: (key: ApiKeyRow) => boolean) => {
    const found = [...apiKeys.values()].find(matches)
    return found && withoutHash(found)
  }

  return ApiKeyStore.of({
    createApiKey: (key, draft) =>
      Effect.sync(() => {
        const stored = storableFields(key)
        apiKeys.set(key.id, stored)
        audit.write(draft, { object: key.id, after: shown(stored) })
      }),
    apiKeys: Effect.sync(() =>
      [...apiKeys.values()]
        .map(withoutHash)
        .sort((a, b) => DateTime.Order(a.created_at, b.created_at) || (a.id < b.id ? -1 : 1))
    ),
    apiKeysByHash: (hashes) =>
      Effect.sync(() => hashes.map((hash) => find(({ key_hash }) => sameBytes(key_hash, hash)))),
    apiKeysById: (ids) => Effect.sync(() => ids.map((id) => find((key) => key.id === id))),
    recordApiKeyUse: (id, at) =>
      Effect.sync(() => {
        const key = apiKeys.get(id)
        if (key === undefined) return
        const latest = DateTime.subtract(at, { minutes: 1 })
        if (key.last_used_at && DateTime.greaterThan(key.last_used_at, latest)) return
        apiKeys.set(id, { ...key, last_used_at: at })
      }),
    revokeApiKey: (id, at, draft) =>
      Effect.suspend(() => {
        const key = apiKeys.get(id)
        if (key === undefined || key.revoked_at !== undefined) return new NotFound()
        apiKeys.set(id, { ...key, revoked_at: at })
        audit.write(draft, { object: id, before: shown(key) })
        for (const session of [...sessions.values()]) {
          if (session.api_key_id === id) sessions.delete(session.id)
        }
        return Effect.void
      })
  })
}
