import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import { Session, type SessionRow } from "../../domain/access/Session.ts"
import type { SessionId } from "../../domain/Id.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { fromRow, hex, list, toColumns, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { audited } from "./Audit.ts"

/** A sign-in reads all sessions, and ID tokens are long. */
const listed = list([...Object.keys(Session.fields), "token_hash", "key_fingerprint", "is_ended"])

/**
 * The sessions of the web UI and of access tokens. Expired ones are kept until they are removed. With a draft, a change
 * writes its audit event in the same commit.
 */
export class SessionStore extends Context.Service<SessionStore>()("webhook-trigger/SessionStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** Has no effect if there is a session with this token. */
    const createSession = Effect.fn("SessionStore.createSession")(function* (session: SessionRow, audit?: AuditDraft) {
      const event = sql`
        select id::text as object, null as before,
          json_strip_nulls(json_build_object('user_agent', user_agent, 'oauth_client', oauth_client)) as after
        from created`
      yield* sql`
        with created as (
          insert into webhook_trigger.sessions ${sql.insert(toColumns(session))}
          on conflict (token_hash) do nothing returning *
        ), ${audited(sql, audit, event)}
        select id from created`
    }, bounded)

    /** The sessions with these tokens, in the order of the hashes; `undefined`: none. */
    const sessionsByToken = Effect.fn("SessionStore.sessionsByToken")(function* (hashes: ReadonlyArray<TokenHash>) {
      const keys = hashes.map(hex)
      const rows = yield* sql`
        select * from webhook_trigger.sessions where token_hash in (
          select decode(value, 'hex') from json_array_elements_text(${JSON.stringify(keys)}::json)
        )`
      const found = new Map(rows.map((row) => fromRow<SessionRow>(row)).map((row) => [hex(row.token_hash), row]))
      return keys.map((key) => found.get(key))
    }, bounded)

    /** All sessions, last used first, without their `sealed_id_token`. */
    const sessions = bounded(
      sql`select ${listed} from webhook_trigger.sessions order by last_used_at desc, id desc`
    ).pipe(
      Effect.map((rows) => rows.map((row) => fromRow<SessionRow>(row))),
      Effect.withSpan("SessionStore.sessions")
    )

    /** Has no effect on an ended session. */
    const recordSessionUse = Effect.fn("SessionStore.recordSessionUse")(function* (
      id: SessionId,
      use: Pick<Session, "last_used_at" | "expires_at">
    ) {
      yield* sql`update webhook_trigger.sessions set ${sql.update(toColumns(use))} where id = ${id}`
    }, bounded)

    /**
     * Ends sessions, and returns the IDs of those that were open. Their rows are removed, except an access token's, which is
     * marked as ended. An event for several has `after: {ended}`, their number.
     */
    const endSessions = Effect.fn("SessionStore.endSessions")(function* (
      ids: ReadonlyArray<SessionId>,
      audit?: AuditDraft
    ) {
      const event = sql`
        select case when count(*) = 1 then min(id::text) end as object, null as before,
          case when count(*) > 1 then json_build_object('ended', count(*)) end as after
        from ended having count(*) > 0`
      const rows = yield* sql<{ readonly id: SessionId }>`
        with removed as (
          delete from webhook_trigger.sessions where id = any(${uuids(sql, ids)}) and oauth_client is null returning id
        ), kept as (
          update webhook_trigger.sessions set is_ended = true
          where id = any(${uuids(sql, ids)}) and oauth_client is not null and is_ended is null returning id
        ), ended as (
          select id from removed union all select id from kept
        ), ${audited(sql, audit, event)}
        select id from ended`
      return rows.map(({ id }) => id)
    }, bounded)

    /** Removes the rows, of whichever kind. */
    const removeSessions = Effect.fn("SessionStore.removeSessions")(function* (ids: ReadonlyArray<SessionId>) {
      yield* sql`delete from webhook_trigger.sessions where id = any(${uuids(sql, ids)})`
    }, bounded)

    return {
      ...{ createSession, sessionsByToken, sessions },
      ...{ recordSessionUse, endSessions, removeSessions }
    }
  })
}) {
  static readonly layer = Layer.effect(SessionStore, SessionStore.make)
}
