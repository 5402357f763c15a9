import { createHash, randomBytes } from "node:crypto"
import { Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { ApiKey } from "../../domain/access/ApiKey.ts"
import type { Session, SessionRow } from "../../domain/access/Session.ts"
import { NotFound, type Unavailable } from "../../domain/Errors.ts"
import { makeSessionId, type SessionId } from "../../domain/Id.ts"
import { sessionIdOf } from "../../domain/ParsedId.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { SessionStore } from "../../repo/access/SessionStore.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { AdminKey } from "./AdminKey.ts"
import { ApiKeys, voidBecause } from "./ApiKeys.ts"
import * as Audit from "./Audit.ts"

/** A session ends after this time without use. */
const idleLimit = Duration.hours(12)
/** A session ends this long after signing in, in any case. */
export const ageLimit = Duration.days(7)

/** The time between two recorded uses, so that few requests need a statement for it. */
const useInterval = Duration.minutes(5)

/**
 * Maximum numbers of open sessions of the admin key, and of each API key. The least recently used of the same key are ended
 * for new ones, so that no key ends the sessions of another.
 */
export const mostSessions = 1_000
export const mostSessionsOfApiKey = 50

/** Maximum length; longer ones are cut. */
const maxUserAgent = 256

const wellFormed = /^whs_[A-Za-z0-9_-]{43}$/

/** An open session, and the key that it was begun with; absent: the admin key. */
export interface OpenSession {
  readonly session: Session
  readonly key?: ApiKey
}

/** A new session, with its secret, which is not stored. */
export interface NewSession {
  readonly token: Redacted.Redacted
  readonly session: Session
}

/** The sessions of the web UI: rows, so that each can be listed and ended, whichever process it was begun on. */
export class Sessions extends Context.Tag("webhook-trigger/Sessions")<
  Sessions,
  {
    /** For someone who has this key, or the admin key. */
    readonly begin: (
      from: Pick<Session, "client_address" | "user_agent">,
      key?: ApiKey
    ) => Effect.Effect<NewSession, Unavailable>
    /** The open session with this token; counts as its use. Reads its row and its key's: both may have ended. */
    readonly find: (token: string) => Effect.Effect<Option.Option<OpenSession>, Unavailable>
    /** The open sessions, last used first. */
    readonly list: Effect.Effect<ReadonlyArray<Session>, Unavailable>
    readonly end: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    readonly endAll: Effect.Effect<void, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Sessions, never, AdminKey | ApiKeys | SessionStore> = Layer.scoped(
    Sessions,
    Effect.gen(function* () {
      const { fingerprint } = yield* AdminKey
      const keys = yield* ApiKeys
      const store = yield* SessionStore

      /** A session ends with the key that it was begun with. */
      const isOpen = Effect.fnUntraced(function* (row: SessionRow, key: ApiKey | undefined, now: DateTime.Utc) {
        if (DateTime.lessThanOrEqualTo(row.expires_at, now)) return false
        if (row.api_key_id !== undefined) return key !== undefined && Option.isNone(voidBecause(key, now))
        return row.key_fingerprint !== undefined && Buffer.from(row.key_fingerprint).equals(yield* fingerprint)
      })

      /** The open sessions, and the IDs of ended ones. */
      const read = Effect.gen(function* () {
        const now = yield* DateTime.now
        const rows = yield* store.sessions
        const known = rows.some(({ api_key_id }) => api_key_id !== undefined) ? yield* keys.list : []
        const byId = new Map(known.map((key) => [key.id, key]))
        const open = yield* Effect.filter(rows, (row) => isOpen(row, row.api_key_id && byId.get(row.api_key_id), now))
        return { open, over: rows.filter((row) => !open.includes(row)).map(({ id }) => id) }
      })

      const begin = Effect.fn("Sessions.begin")(function* (
        from: Pick<Session, "client_address" | "user_agent">,
        key?: ApiKey
      ) {
        const { open, over } = yield* read
        const most = key === undefined ? mostSessions : mostSessionsOfApiKey
        const ofKey = open.filter(({ api_key_id }) => api_key_id === key?.id)
        const tooMany = ofKey.slice(most - 1).map(({ id }) => id)
        if (over.length + tooMany.length > 0) yield* store.endSessions([...over, ...tooMany])
        const now = yield* DateTime.now
        const token = `whs_${randomBytes(32).toString("base64url")}`
        const session: Session = {
          id: yield* makeSessionId,
          created_at: now,
          last_used_at: now,
          expires_at: earliest(DateTime.addDuration(now, idleLimit), key?.expires_at),
          ...(key && { api_key_id: key.id, key_name: key.name }),
          client_address: from.client_address,
          user_agent: from.user_agent.slice(0, maxUserAgent)
        }
        yield* store.createSession(
          { ...session, token_hash: hash(token), ...(!key && { key_fingerprint: yield* fingerprint }) },
          yield* Audit.draft("session.started")
        )
        return { token: Redacted.make(token), session }
      })

      const readTogether = yield* GroupCommit.make({ size: 500, commit: store.sessionsByToken })

      const use = (row: SessionRow, key: ApiKey | undefined, now: DateTime.Utc) => {
        const latest = earliest(DateTime.addDuration(row.created_at, ageLimit), key?.expires_at)
        const used = { last_used_at: now, expires_at: DateTime.min(DateTime.addDuration(now, idleLimit), latest) }
        return Effect.as(store.recordSessionUse(row.id, used), { ...row, ...used })
      }

      const find = Effect.fn("Sessions.find")(function* (token: string) {
        if (!wellFormed.test(token)) return Option.none()
        const [row] = yield* readTogether([hash(token)])
        if (row === undefined) return Option.none()
        const key = row.api_key_id && Option.getOrUndefined(yield* keys.findById(row.api_key_id))
        const now = yield* DateTime.now
        if (!(yield* isOpen(row, key, now))) return Option.none()
        const isUnrecorded = DateTime.distance(row.last_used_at, now) >= Duration.toMillis(useInterval)
        const session = shown(isUnrecorded ? yield* use(row, key, now) : row)
        return Option.some({ session, ...(key && { key }) })
      })

      /** Ends sessions on request. An expired session ends without an audit event. */
      const endNow = (ids: ReadonlyArray<SessionId>) =>
        Effect.flatMap(Audit.draft("session.ended"), (audit) => store.endSessions(ids, audit))

      return Sessions.of({
        begin,
        find,
        list: Effect.map(read, ({ open }) => open.map(shown)),
        end: (text) =>
          Effect.flatMap(sessionIdOf(text), (id) =>
            Effect.flatMap(endNow([id]), (ended) => (ended.length === 0 ? new NotFound() : Effect.void))
          ),
        endAll: Effect.flatMap(store.sessions, (rows) => Effect.asVoid(endNow(rows.map(({ id }) => id))))
      })
    })
  )
}

const hash = (token: string): TokenHash => createHash("sha256").update(token).digest()

const earliest = (time: DateTime.Utc, limit: DateTime.Utc | undefined): DateTime.Utc =>
  limit === undefined ? time : DateTime.min(time, limit)

const shown = ({ key_fingerprint: _key, token_hash: _token, ...session }: SessionRow): Session => session
