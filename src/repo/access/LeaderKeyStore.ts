import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { LeaderKey, LeaderKeyRow } from "../../domain/access/LeaderKey.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { LeaderKeyId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { notify } from "../Changes.ts"
import { fromRow, hex, toColumns } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { audited } from "./Audit.ts"

/** The keys of teams' leaders. With a draft, a change writes its audit event, about the team, in the same commit. */
export class LeaderKeyStore extends Context.Service<LeaderKeyStore>()("webhook-trigger/LeaderKeyStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const shown = sql.literal("json_build_object('id', id, 'name', name, 'hint', hint)")
    const columns = sql.literal("id, team, name, hint, created_at, last_used_at")

    /** `NotFound`: there is no such team. */
    const createLeaderKey = Effect.fn("LeaderKeyStore.createLeaderKey")(function* (
      key: LeaderKeyRow,
      audit?: AuditDraft
    ) {
      const row = toColumns(key)
      // The team is locked, so it cannot be deleted in between.
      const rows = yield* sql`
        with found as materialized (
          select team from webhook_trigger.teams where team = ${key.team} for key share
        ), created as (
          insert into webhook_trigger.leader_keys (id, team, name, hint, key_hash, created_at)
          select ${row.id}::uuid, team, ${row.name}::text, ${row.hint}::text, ${row.key_hash}::bytea,
            ${row.created_at}::timestamptz
          from found returning *
        ), ${audited(sql, audit, sql`select team as object, null as before, ${shown} as after from created`)}
        select id from created`
      if (rows.length === 0) return yield* new NotFound()
    }, bounded)

    /** The team's keys, oldest first. */
    const leaderKeys = Effect.fn("LeaderKeyStore.leaderKeys")(function* (team: TeamName) {
      const found = yield* sql`select 1 from webhook_trigger.teams where team = ${team}`
      if (found.length === 0) return yield* new NotFound()
      const rows =
        yield* sql`select ${columns} from webhook_trigger.leader_keys where team = ${team} order by created_at, id`
      return rows.map((row) => fromRow<LeaderKey>(row))
    }, bounded)

    /** The keys with these hashes, in their order; `undefined`: none. */
    const leaderKeysByHash = Effect.fn("LeaderKeyStore.leaderKeysByHash")(function* (hashes: ReadonlyArray<TokenHash>) {
      const keys = hashes.map(hex)
      const rows = yield* sql<{ readonly hash: string }>`
        select ${columns}, encode(key_hash, 'hex') as hash from webhook_trigger.leader_keys where key_hash in (
          select decode(value, 'hex') from json_array_elements_text(${JSON.stringify(keys)}::json)
        )`
      const found = new Map(rows.map(({ hash, ...row }) => [hash, fromRow<LeaderKey>(row)]))
      return keys.map((key) => found.get(key))
    }, bounded)

    /** Does nothing to a key that was revoked. */
    const recordLeaderKeyUse = Effect.fn("LeaderKeyStore.recordLeaderKeyUse")(function* (
      id: LeaderKeyId,
      at: DateTime.Utc
    ) {
      yield* sql`update webhook_trigger.leader_keys set last_used_at = ${DateTime.toDateUtc(at)} where id = ${id}`
    }, bounded)

    /** Removes one of the team's keys, and reports `LeaderKeyRevoked`. */
    const revokeLeaderKey = Effect.fn("LeaderKeyStore.revokeLeaderKey")(function* (
      team: TeamName,
      id: LeaderKeyId,
      audit?: AuditDraft
    ) {
      const rows = yield* sql`
        with revoked as (
          delete from webhook_trigger.leader_keys where id = ${id} and team = ${team} returning *
        ), ${audited(sql, audit, sql`select team as object, ${shown} as before, null as after from revoked`)},
        ${notify(sql, "LeaderKeyRevoked", sql`select id::text as name from revoked`)}
        select id, (select count(*) from notified) from revoked`
      if (rows.length === 0) return yield* new NotFound()
    }, bounded)

    return {
      createLeaderKey,
      leaderKeys,
      leaderKeysByHash,
      recordLeaderKeyUse,
      revokeLeaderKey
    }
  })
}) {
  static readonly layer = Layer.effect(LeaderKeyStore, LeaderKeyStore.make)
}
