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
import * as SecretKeys from "../verify/SecretKeys.ts"
import { AdminKey } from "./AdminKey.ts"
import { ApiKeys, voidBecause } from "./ApiKeys.ts"
import * as Audit from "./Audit.ts"
import { type AccessToken, signedPartOf } from "./oidc/AccessTokens.ts"
import { fingerprintOf, Oidc } from "./oidc/OidcSettings.ts"
import type { SignedInPerson } from "./oidc/Provider.ts"

/** A session ends after this time without use. */
const idleLimit = Duration.hours(12)
/** A session ends this long after signing in, in any case; that of a person after the provider's setting. */
export const ageLimit = Duration.days(7)

/** The time between two recorded uses, so that few requests need a statement for it. */
const useInterval = Duration.minutes(5)

/**
 * Maximum numbers of open sessions of the admin key, and of each API key or person. A person's access tokens are counted
 * apart from their browsers. The least recently used of the same one are ended for new ones, so that nobody ends the
 * sessions of another.
 */
export const mostSessions = 1_000
export const mostSessionsOfApiKey = 50

/** Maximum length; longer ones are cut. */
const maxUserAgent = 256

const wellFormed = /^whs_[A-Za-z0-9_-]{43}$/

/** An open session, and the API key that it was begun with. */
interface OpenSession {
  readonly session: Session
  readonly key?: ApiKey
}

type From = Pick<Session, "client_address" | "user_agent">

/** A new session, with its secret, which is not stored. */
export interface NewSession {
  readonly token: Redacted.Redacted
  readonly session: Session
}

/**
 * The sessions of the web UI, and of access tokens at `/mcp`: rows, so that each can be listed and ended, whichever process it
 * was begun on.
 */
export class Sessions extends Context.Service<
  Sessions,
  {
    /** For someone who has this key, or the admin key. */
    readonly begin: (from: From, key?: ApiKey) => Effect.Effect<NewSession, Unavailable>
    /** For a person who signed in at the provider. */
    readonly beginFor: (from: From, person: SignedInPerson) => Effect.Effect<NewSession, Unavailable>
    /** The open session with this token; counts as its use. Reads its row and its key's: both may have ended. */
    readonly find: (token: string) => Effect.Effect<Option.Option<OpenSession>, Unavailable>
    /**
     * The session of an access token that was checked; counts as its use. The first request begins it. None: it was ended, or
     * begun with other settings of the provider.
     */
    readonly ofAccessToken: (
      token: Redacted.Redacted,
      checked: AccessToken,
      from: From
    ) => Effect.Effect<Option.Option<Session>, Unavailable>
    /** The open sessions, last used first. */
    readonly list: Effect.Effect<ReadonlyArray<Session>, Unavailable>
    readonly end: (id: string) => Effect.Effect<void, NotFound | Unavailable>
    /** Ends the session with this hash of its token, if it is open. */
    readonly endReplaced: (hash: TokenHash) => Effect.Effect<void, Unavailable>
    /** The provider's ID token of an open session, if it was stored. */
    readonly idTokenOf: (token: string) => Effect.Effect<string | undefined, Unavailable>
    readonly endAll: Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/Sessions") {
  static readonly layer: Layer.Layer<Sessions, never, AdminKey | ApiKeys | SessionStore> = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const { fingerprint } = yield* AdminKey
      const keys = yield* ApiKeys
      const store = yield* SessionStore
      const provider = Option.getOrUndefined(
        Option.map(yield* Oidc, (settings) => ({
          fingerprint: fingerprintOf(settings),
          lifetime: settings.sessionLifetime
        }))
      )

      /** A session ends with the key that it was begun with, or with the settings of the provider. */
      const isOpen = Effect.fnUntraced(function* (row: SessionRow, key: ApiKey | undefined, now: DateTime.Utc) {
        if (row.is_ended || DateTime.isLessThanOrEqualTo(row.expires_at, now)) return false
        if (row.api_key_id !== undefined) return key !== undefined && Option.isNone(voidBecause(key, now))
        const expected = row.person === undefined ? yield* fingerprint : provider?.fingerprint
        if (row.key_fingerprint === undefined || expected === undefined) return false
        return Buffer.from(row.key_fingerprint).equals(expected)
      })

      /** The open sessions, and the IDs of those whose rows have no use any more. */
      const read = Effect.gen(function* () {
        const now = yield* DateTime.now
        const rows = yield* store.sessions
        const known = rows.some(({ api_key_id }) => api_key_id !== undefined) ? yield* keys.list : []
        const byId = new Map(known.map((key) => [key.id, key]))
        const open = yield* Effect.filter(rows, (row) => isOpen(row, row.api_key_id && byId.get(row.api_key_id), now))
        // Without its row, an access token would begin another session.
        const isRefused = ({ expires_at, oauth_client }: SessionRow) =>
          oauth_client !== undefined && DateTime.isGreaterThan(expires_at, now)
        const stillOpen = new Set(open)
        return { open, over: rows.filter((row) => !stillOpen.has(row) && !isRefused(row)).map(({ id }) => id) }
      })

      const latestEnd = (created_at: DateTime.Utc, person: Session["person"], key: ApiKey | undefined) =>
        earliest(
          DateTime.addDuration(created_at, person === undefined ? ageLimit : (provider?.lifetime ?? Duration.zero)),
          key?.expires_at
        )

      /**
       * Ends the least recently used sessions of this key, person's browsers or person's access tokens, if there are too many,
       * and removes unused rows.
       */
      const makeRoom = (key: ApiKey | undefined, person: Session["person"], kind: "browser" | "access token") =>
        Effect.gen(function* () {
          const { open, over } = yield* read
          const most = key === undefined && person === undefined ? mostSessions : mostSessionsOfApiKey
          const ofSame = open.filter(
            ({ api_key_id, oauth_client, person: other }) =>
              api_key_id === key?.id &&
              other?.id === person?.id &&
              (oauth_client === undefined) === (kind === "browser")
          )
          const tooMany = ofSame.slice(most - 1).map(({ id }) => id)
          if (over.length > 0) yield* store.removeSessions(over)
          if (tooMany.length > 0) yield* store.endSessions(tooMany)
        })

      const beginWith = Effect.fn("Sessions.begin")(function* (from: From, key?: ApiKey, signedIn?: SignedInPerson) {
        const { person } = signedIn ?? {}
        yield* makeRoom(key, person, "browser")
        const now = yield* DateTime.now
        const token = `whs_${randomBytes(32).toString("base64url")}`
        const session: Session = {
          id: yield* makeSessionId,
          created_at: now,
          last_used_at: now,
          expires_at: DateTime.min(DateTime.addDuration(now, idleLimit), latestEnd(now, person, key)),
          ...(signedIn === undefined
            ? { authenticated_at: now }
            : signedIn.authenticated_at && { authenticated_at: signedIn.authenticated_at }),
          ...(person && { person }),
          ...(key && { api_key_id: key.id, key_name: key.name }),
          ...sender(from)
        }
        yield* store.createSession(
          {
            ...session,
            token_hash: hashOf(token),
            ...(!key && { key_fingerprint: person ? provider!.fingerprint : yield* fingerprint }),
            ...(signedIn?.id_token && { sealed_id_token: sealIdToken(token, session.id, signedIn.id_token) })
          },
          yield* Audit.draft("session.started")
        )
        return { token: Redacted.make(token), session }
      })

      const readTogether = yield* GroupCommit.make({ size: 500, commit: store.sessionsByToken })

      /** Records a use, unless one was recorded a moment ago. */
      const use = (row: SessionRow, key: ApiKey | undefined, now: DateTime.Utc) => {
        if (Duration.isLessThan(DateTime.distance(row.last_used_at, now), useInterval)) return Effect.succeed(row)
        const latest = latestEnd(row.created_at, row.person, key)
        // An access token's end does not change.
        const expires_at =
          row.oauth_client === undefined ? DateTime.min(DateTime.addDuration(now, idleLimit), latest) : row.expires_at
        const used = { last_used_at: now, expires_at }
        return Effect.as(store.recordSessionUse(row.id, used), { ...row, ...used })
      }

      const find = Effect.fn("Sessions.find")(function* (token: string) {
        if (!wellFormed.test(token)) return Option.none()
        const [row] = yield* readTogether([hashOf(token)])
        if (row === undefined) return Option.none()
        const key = row.api_key_id && Option.getOrUndefined(yield* keys.findById(row.api_key_id))
        const now = yield* DateTime.now
        if (!(yield* isOpen(row, key, now))) return Option.none()
        const session = shown(yield* use(row, key, now))
        return Option.some({ session, ...(key && { key }) })
      })

      const ofAccessToken = Effect.fn("Sessions.ofAccessToken")(function* (
        token: Redacted.Redacted,
        { expires_at, oauth_client, person }: AccessToken,
        from: From
      ) {
        const hash = hashOf(signedPartOf(Redacted.value(token)))
        const [known] = yield* readTogether([hash])
        if (known === undefined) {
          yield* makeRoom(undefined, person, "access token")
          const now = yield* DateTime.now
          const times = { created_at: now, last_used_at: now, expires_at }
          const session = { id: yield* makeSessionId, ...times, person, oauth_client, ...sender(from) }
          const row = { ...session, token_hash: hash, ...(provider && { key_fingerprint: provider.fingerprint }) }
          // Another request with the token may have been first, on this server or another.
          yield* store.createSession(row, yield* Audit.draft("session.started"))
        }
        const row = known ?? (yield* readTogether([hash]))[0]
        const now = yield* DateTime.now
        if (row === undefined || !(yield* isOpen(row, undefined, now))) return Option.none()
        return Option.some(shown(yield* use(row, undefined, now)))
      })

      /** Ends sessions on request. An expired session ends without an audit event. */
      const endNow = (ids: ReadonlyArray<SessionId>) =>
        Effect.flatMap(Audit.draft("session.ended"), (audit) => store.endSessions(ids, audit))

      return Sessions.of({
        begin: (from, key) => beginWith(from, key),
        beginFor: (from, person) => beginWith(from, undefined, person),
        find,
        ofAccessToken,
        list: Effect.map(read, ({ open }) => open.map(shown)),
        end: (text) =>
          Effect.flatMap(sessionIdOf(text), (id) =>
            Effect.flatMap(endNow([id]), (ended) => (ended.length === 0 ? new NotFound() : Effect.void))
          ),
        endReplaced: Effect.fn("Sessions.endReplaced")(function* (hash: TokenHash) {
          const [row] = yield* readTogether([hash])
          if (row !== undefined) yield* endNow([row.id])
        }),
        idTokenOf: Effect.fn("Sessions.idTokenOf")(function* (token: string) {
          if (!wellFormed.test(token)) return undefined
          const [row] = yield* readTogether([hashOf(token)])
          return row?.sealed_id_token && openIdToken(token, row.id, row.sealed_id_token)
        }),
        endAll: Effect.flatMap(store.sessions, (rows) => Effect.asVoid(endNow(rows.map(({ id }) => id))))
      })
    })
  )
}

export const hashOf = (token: string): TokenHash => createHash("sha256").update(token).digest()

/** Only the browser has the session's secret, so who reads the database cannot read the ID token. */
const idTokenKey = (token: string): SecretKeys.SecretKey =>
  Redacted.make(new Uint8Array(createHash("sha256").update("webhook-trigger key of ID token").update(token).digest()))

const sealIdToken = (token: string, id: SessionId, idToken: string): string =>
  SecretKeys.seal(idTokenKey(token), Redacted.make(idToken), id)

const openIdToken = (token: string, id: SessionId, sealed: string): string | undefined => {
  const idToken = SecretKeys.open([idTokenKey(token)], sealed, id)
  return idToken && Redacted.value(idToken)
}

const sender = ({ client_address, user_agent }: From): From => ({
  client_address,
  user_agent: user_agent.slice(0, maxUserAgent)
})

const earliest = (time: DateTime.Utc, limit: DateTime.Utc | undefined): DateTime.Utc =>
  limit === undefined ? time : DateTime.min(time, limit)

const shown = ({
  is_ended: _ended,
  key_fingerprint: _key,
  sealed_id_token: _idToken,
  token_hash: _token,
  ...session
}: SessionRow): Session => session
