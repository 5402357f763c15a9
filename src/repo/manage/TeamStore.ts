import { Context, type DateTime, type Effect } from "effect"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import type { NotFound, TeamExists, TeamInUse, Unavailable } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import type { TeamName, TeamRecord } from "../../domain/Team.ts"

/**
 * The teams. With a draft, a change writes its audit event in the same commit. Pausing a paused team, or resuming one
 * that is neither paused nor resting, changes nothing.
 */
export class TeamStore extends Context.Service<
  TeamStore,
  {
    readonly createTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<TeamRecord, TeamExists | Unavailable>
    /** All teams, by name. */
    readonly teams: Effect.Effect<ReadonlyArray<TeamRecord>, Unavailable>
    /** When the oldest queued run of each team was accepted; a team without any is absent. */
    readonly oldestQueued: Effect.Effect<ReadonlyMap<TeamName, DateTime.Utc>, Unavailable>
    readonly team: (team: TeamName) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** From then on, queued runs of the team are not admitted. Admitted runs continue. */
    readonly pauseTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** Undoes `pauseTeam`, ends a rest (`RunStore.rest`), and notifies `RunAccepted`. The clock of runs that wait for a leader starts again. */
    readonly resumeTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<TeamRecord, NotFound | Unavailable>
    /** Releases the team's ended runs, whose agents may still work: they are `unconfirmed`. Notified like an end. */
    readonly releaseTeam: (
      team: TeamName,
      at: DateTime.Utc,
      audit?: AuditDraft
    ) => Effect.Effect<ReadonlyArray<RunId>, NotFound | Unavailable>
    /** Ends the team's threads. Removes the team, its leader keys and its ended chat messages. */
    readonly deleteTeam: (team: TeamName, audit?: AuditDraft) => Effect.Effect<void, NotFound | TeamInUse | Unavailable>
  }
>()("webhook-trigger/TeamStore") {}
