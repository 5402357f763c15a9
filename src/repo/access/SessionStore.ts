import { Context, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { Session, SessionRow } from "../../domain/access/Session.ts"
import type { Unavailable } from "../../domain/Errors.ts"
import type { SessionId } from "../../domain/Id.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"

/**
 * The sessions of the web UI and of access tokens. Expired ones are kept until they are removed. With a draft, a change
 * writes its audit event in the same commit.
 */
export class SessionStore extends Context.Service<
  SessionStore,
  {
    /** Has no effect if there is a session with this token. */
    readonly createSession: (session: SessionRow, audit?: AuditDraft) => Effect.Effect<void, Unavailable>
    /** The sessions with these tokens, in the order of the hashes; `undefined`: none. */
    readonly sessionsByToken: (
      hashes: ReadonlyArray<TokenHash>
    ) => Effect.Effect<ReadonlyArray<SessionRow | undefined>, Unavailable>
    /** All sessions, last used first, without their `sealed_id_token`. */
    readonly sessions: Effect.Effect<ReadonlyArray<SessionRow>, Unavailable>
    /** Has no effect on an ended session. */
    readonly recordSessionUse: (
      id: SessionId,
      use: Pick<Session, "last_used_at" | "expires_at">
    ) => Effect.Effect<void, Unavailable>
    /**
     * Ends sessions, and returns the IDs of those that were open. Their rows are removed, except an access token's, which is
     * marked as ended. An event for several has `after: {ended}`, their number.
     */
    readonly endSessions: (
      ids: ReadonlyArray<SessionId>,
      audit?: AuditDraft
    ) => Effect.Effect<ReadonlyArray<SessionId>, Unavailable>
    /** Removes the rows, of whichever kind. */
    readonly removeSessions: (ids: ReadonlyArray<SessionId>) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/SessionStore") {}
