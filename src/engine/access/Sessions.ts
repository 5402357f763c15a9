import { createHash, randomBytes } from "node:crypto"
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { Session, SessionRow } from "../../domain/access/Session.ts"
import { NotFound, type Unavailable } from "../../domain/Errors.ts"
import { makeSessionId, type SessionId } from "../../domain/Id.ts"
import { sessionIdOf } from "../../domain/ParsedId.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"
import { SessionStore } from "../../repo/access/SessionStore.ts"
import { ChangeFeed } from "../../repo/ChangeFeed.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import { AdminKey } from "./AdminKey.ts"
import * as Audit from "./Audit.ts"

/** A session ends after this time without use. */
const idleLimit = Duration.hours(12)
/** A session ends this long after signing in, in any case. */
export const ageLimit = Duration.days(7)

/** The time between two recorded uses, so that few requests need a statement for it. */
const useInterval = Duration.minutes(5)

/**
 * How long a session is believed without being read again, in milliseconds. When one is ended, every process is notified;
 * this is the bound for a notification that was lost.
 */
const memory = 1_000

/** Maximum number of open sessions. The least recently used are ended for new ones. */
export const mostSessions = 1_000

/** Maximum length; longer ones are cut. */
const maxUserAgent = 256

const wellFormed = /^whs_[A-Za-z0-9_-]{43}$/

/** A new session, with its secret, which is not stored. */
export interface NewSession {
  readonly token: Redacted.Redacted
  readonly session: Session
}

/** The sessions of the web UI: rows, so that each can be listed and ended, whichever process it was begun on. */
export class Sessions extends Context.Tag("webhook-trigger/Sessions")<
  Sessions,
  {
    /** For someone who has the admin key. */
    readonly begin: (from: Pick<Session, "client_address" | "user_agent">) => Effect.Effect<NewSession, Unavailable>
    /** The open session with this token; counts as its use. An ended one is still found for up to a second. */
    readonly find: (token: string) => Effect.Effect<Option.Option<Session>, Unavailable>
    /** The open sessions, last used first. */
    readonly list: Effect.Effect<ReadonlyArray<Session>, Unavailable>
    readonly end: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    readonly endAll: Effect.Effect<void, Unavailable>
  }
>() {
  static readonly layer: Layer.Layer<Sessions, never, AdminKey | ChangeFeed | SessionStore> = Layer.scoped(
    Sessions,
    Effect.gen(function* () {
      const { fingerprint } = yield* AdminKey
      const store = yield* SessionStore
      const feed = yield* ChangeFeed
      const known = new RecentMap<string, { readonly row: SessionRow; readonly read_at: number }>(2 * mostSessions)

      const forget = (ids: ReadonlySet<SessionId>) => {
        for (const [key, { row }] of known) if (ids.has(row.id)) known.delete(key)
      }
      yield* feed.listen((changes) => {
        const ended = changes.flatMap((change) => (change._tag === "SessionEnded" ? [change.session_id] : []))
        if (ended.length > 0) forget(new Set(ended))
      })

      const isOpen = ({ expires_at, key_fingerprint }: SessionRow, key: Uint8Array, now: DateTime.Utc) =>
        DateTime.greaterThan(expires_at, now) && Buffer.from(key_fingerprint).equals(key)

      /** The open sessions, and the IDs of ended ones. */
      const read = Effect.gen(function* () {
        const [key, now] = [yield* fingerprint, yield* DateTime.now]
        const rows = yield* store.sessions
        const open = rows.filter((row) => isOpen(row, key, now))
        return { open, over: rows.filter((row) => !open.includes(row)).map(({ id }) => id) }
      })

      const end = (ids: ReadonlyArray<SessionId>, audit?: AuditDraft) =>
        Effect.tap(store.endSessions(ids, audit), (ended) => Effect.sync(() => forget(new Set(ended))))

      const begin = Effect.fn("Sessions.begin")(function* (from: Pick<Session, "client_address" | "user_agent">) {
        const { open, over } = yield* read
        const tooMany = open.slice(mostSessions - 1).map(({ id }) => id)
        if (over.length + tooMany.length > 0) yield* end([...over, ...tooMany])
        const now = yield* DateTime.now
        const token = `whs_${randomBytes(32).toString("base64url")}`
        const session: Session = {
          id: yield* makeSessionId,
          created_at: now,
          last_used_at: now,
          expires_at: DateTime.addDuration(now, idleLimit),
          client_address: from.client_address,
          user_agent: from.user_agent.slice(0, maxUserAgent)
        }
        yield* store.createSession(
          { ...session, token_hash: hash(token), key_fingerprint: yield* fingerprint },
          yield* Audit.draft("session.started")
        )
        return { token: Redacted.make(token), session }
      })

      const readTogether = yield* GroupCommit.make({ size: 500, commit: store.sessionsByToken })
      const readRow = (token_hash: TokenHash) =>
        Effect.gen(function* () {
          const read_at = yield* Clock.currentTimeMillis
          const [row] = yield* readTogether([token_hash])
          if (row === undefined) known.delete(keyOf(token_hash))
          else known.set(keyOf(token_hash), { row, read_at })
          return row
        })

      const use = (row: SessionRow, now: DateTime.Utc) =>
        Effect.gen(function* () {
          const latest = DateTime.addDuration(row.created_at, ageLimit)
          const used = { last_used_at: now, expires_at: DateTime.min(DateTime.addDuration(now, idleLimit), latest) }
          yield* store.recordSessionUse(row.id, used)
          const remembered = known.get(keyOf(row.token_hash))
          if (remembered !== undefined) known.set(keyOf(row.token_hash), { ...remembered, row: { ...row, ...used } })
          return { ...row, ...used }
        })

      const find = Effect.fn("Sessions.find")(function* (token: string) {
        if (!wellFormed.test(token)) return Option.none()
        const now = yield* DateTime.now
        const token_hash = hash(token)
        const remembered = known.get(keyOf(token_hash))
        const isRecent = remembered !== undefined && DateTime.toEpochMillis(now) - remembered.read_at < memory
        const row = isRecent ? remembered.row : yield* readRow(token_hash)
        if (row === undefined || !isOpen(row, yield* fingerprint, now)) return Option.none()
        const isUnrecorded = DateTime.distance(row.last_used_at, now) >= Duration.toMillis(useInterval)
        return Option.some(shown(isUnrecorded ? yield* use(row, now) : row))
      })

      /** Ends sessions on request. An expired session ends without an audit event. */
      const endNow = (ids: ReadonlyArray<SessionId>) =>
        Effect.flatMap(Audit.draft("session.ended"), (audit) => end(ids, audit))

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

const keyOf = (token_hash: TokenHash): string => Buffer.from(token_hash).toString("base64")

const shown = ({ key_fingerprint: _key, token_hash: _token, ...session }: SessionRow): Session => session
