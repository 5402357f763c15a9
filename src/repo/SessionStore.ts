import { Context, type Effect } from "effect"
import type { AuditDraft } from "../domain/access/AuditEvent.ts"
import type { Session, SessionRow } from "../domain/access/Session.ts"
import type { Unavailable } from "../domain/Errors.ts"
import type { SessionId } from "../domain/Id.ts"
import type { TokenHash } from "../domain/webhook/Token.ts"

/**
 * The sessions of the web UI. One whose time has passed is kept until it is ended. With a draft, a change
 * writes its audit event in the same commit.
 */
export class SessionStore extends Context.Tag("webhook-trigger/SessionStore")<
  SessionStore,
  {
    readonly createSession: (session: SessionRow, audit?: AuditDraft) => Effect.Effect<void, Unavailable>
    /** The sessions with these tokens, in the order of the hashes; `undefined`: none. */
    readonly sessionsByToken: (
      hashes: ReadonlyArray<TokenHash>
    ) => Effect.Effect<ReadonlyArray<SessionRow | undefined>, Unavailable>
    /** All sessions, the one used last first. */
    readonly sessions: Effect.Effect<ReadonlyArray<SessionRow>, Unavailable>
    /** Does nothing to a session that has been ended. */
    readonly recordSessionUse: (
      id: SessionId,
      use: Pick<Session, "last_used_at" | "expires_at">
    ) => Effect.Effect<void, Unavailable>
    /** Removes sessions, and returns the ids of those that were there. The event of several has `after: {ended}`, their number. */
    readonly endSessions: (
      ids: ReadonlyArray<SessionId>,
      audit?: AuditDraft
    ) => Effect.Effect<ReadonlyArray<SessionId>, Unavailable>
  }
>() {}
