import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKey, type ApiKeyRow } from "../../domain/access/ApiKey.ts"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { ApiKeyId } from "../../domain/Id.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { fromRow, hex, list, toColumns, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { audited } from "./Audit.ts"

const fields = Object.keys(ApiKey.fields)
const columns = list(fields)

/** The keys of the management API. With a draft, a change writes its audit event, about the key, in the same commit. */
export class ApiKeyStore extends Context.Service<ApiKeyStore>()("webhook-trigger/ApiKeyStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const shown = sql.literal(
      "json_strip_nulls(json_build_object('name', name, 'role', role, 'teams', teams, 'webhooks', webhooks, 'hint', hint))"
    )
    const toKey = (row: object) => fromRow<ApiKey>(row, fields)

    const createApiKey = Effect.fn("ApiKeyStore.createApiKey")(function* (key: ApiKeyRow, audit?: AuditDraft) {
      yield* sql`
        with created as (
          insert into webhook_trigger.api_keys ${sql.insert(toColumns(key))} returning *
        ), ${audited(sql, audit, sql`select id::text as object, null as before, ${shown} as after from created`)}
        select id from created`
    }, bounded)

    /** All keys, also revoked and expired ones, oldest first. */
    const apiKeys = bounded(sql`select ${columns} from webhook_trigger.api_keys order by created_at, id`).pipe(
      Effect.map((rows) => rows.map(toKey)),
      Effect.withSpan("ApiKeyStore.apiKeys")
    )

    /** The keys with these hashes, in their order, also revoked and expired ones; `undefined`: none. */
    const apiKeysByHash = Effect.fn("ApiKeyStore.apiKeysByHash")(function* (hashes: ReadonlyArray<TokenHash>) {
      const keys = hashes.map(hex)
      const rows = yield* sql<{ readonly hash: string }>`
        select ${columns}, encode(key_hash, 'hex') as hash from webhook_trigger.api_keys where key_hash in (
          select decode(value, 'hex') from json_array_elements_text(${JSON.stringify(keys)}::json)
        )`
      const found = new Map(rows.map((row) => [row.hash, toKey(row)]))
      return keys.map((key) => found.get(key))
    }, bounded)

    const apiKeysById = Effect.fn("ApiKeyStore.apiKeysById")(function* (ids: ReadonlyArray<ApiKeyId>) {
      const rows = yield* sql`select ${columns} from webhook_trigger.api_keys where id = any(${uuids(sql, ids)})`
      const found = new Map(rows.map(toKey).map((key) => [key.id, key]))
      return ids.map((id) => found.get(id))
    }, bounded)

    /** Does nothing if a use was recorded in the minute before `at`, for instance by another process. */
    const recordApiKeyUse = Effect.fn("ApiKeyStore.recordApiKeyUse")(function* (id: ApiKeyId, at: DateTime.Utc) {
      yield* sql`
        update webhook_trigger.api_keys set last_used_at = ${DateTime.toDateUtc(at)}
        where id = ${id} and (
          last_used_at is null or last_used_at <= ${DateTime.toDateUtc(at)}::timestamptz - interval '1 minute'
        )`
    }, bounded)

    /** Ends the sessions that were begun with the key, too. `NotFound`: there is none, or it was revoked before. */
    const revokeApiKey = Effect.fn("ApiKeyStore.revokeApiKey")(function* (
      id: ApiKeyId,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) {
      const rows = yield* sql`
        with revoked as (
          update webhook_trigger.api_keys set revoked_at = ${DateTime.toDateUtc(at)}
          where id = ${id} and revoked_at is null returning *
        ), ${audited(sql, audit, sql`select id::text as object, ${shown} as before, null as after from revoked`)},
        ended as (delete from webhook_trigger.sessions s using revoked where s.api_key_id = revoked.id)
        select id from revoked`
      if (rows.length === 0) return yield* new NotFound()
    }, bounded)

    return { createApiKey, apiKeys, apiKeysByHash, apiKeysById, recordApiKeyUse, revokeApiKey }
  })
}) {
  static readonly layer = Layer.effect(ApiKeyStore, ApiKeyStore.make)
}
