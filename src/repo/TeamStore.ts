import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../domain/access/AuditEvent.ts"
import type { NotFound, TeamExists, TeamInUse, Unavailable } from "../domain/Errors.ts"
import type { TeamName, TeamRecord } from "../domain/Team.ts"

/**
 * Teams that webhooks can point at. With a draft, a change writes its audit event in the same commit; pausing a team that is
 * paused already, and resuming one that is not, changes nothing.
 */
export class TeamStore extends Context.Tag("webhook-trigger/TeamStore")<
  TeamStore,
  {
    readonly createTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<TeamRecord, TeamExists | Unavailable>
    /** All teams, by name. */
    readonly teams: Effect.Effect<ReadonlyArray<TeamRecord>, Unavailable>
    readonly team: (team: TeamName) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** What is queued for the team is not admitted from then on; what was admitted before goes on. */
    readonly pauseTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** Undoes `pauseTeam`, and reports `RunAccepted`. The clock of what waits for a leader starts again. */
    readonly resumeTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** Removes the team and its ended chat messages. */
    readonly deleteTeam: (team: TeamName, audit?: AuditDraft) => Effect.Effect<void, NotFound | TeamInUse | Unavailable>
  }
>() {}
