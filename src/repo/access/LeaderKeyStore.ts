import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { LeaderKey, LeaderKeyRow } from "../../domain/access/LeaderKey.ts"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { LeaderKeyId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { TokenHash } from "../../domain/webhook/Token.ts"

/** The keys of teams' leaders. With a draft, a change writes its audit event, about the team, in the same commit. */
export class LeaderKeyStore extends Context.Service<
  LeaderKeyStore,
  {
    /** `NotFound`: there is no such team. */
    readonly createLeaderKey: (key: LeaderKeyRow, audit?: AuditDraft) => Effect.Effect<void, NotFound | Unavailable>
    /** The team's keys, oldest first. */
    readonly leaderKeys: (team: TeamName) => Effect.Effect<ReadonlyArray<LeaderKey>, NotFound | Unavailable>
    /** The keys with these hashes, in their order; `undefined`: none. */
    readonly leaderKeysByHash: (
      hashes: ReadonlyArray<TokenHash>
    ) => Effect.Effect<ReadonlyArray<LeaderKey | undefined>, Unavailable>
    /** Does nothing to a key that was revoked. */
    readonly recordLeaderKeyUse: (id: LeaderKeyId, at: DateTime.Utc) => Effect.Effect<void, Unavailable>
    /** Removes one of the team's keys, and reports `LeaderKeyRevoked`. */
    readonly revokeLeaderKey: (
      team: TeamName,
      id: LeaderKeyId,
      audit?: AuditDraft
    ) => Effect.Effect<void, NotFound | Unavailable>
  }
>()("webhook-trigger/LeaderKeyStore") {}
