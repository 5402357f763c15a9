import { DateTime } from "effect"
import type { Team } from "../../domain/Team.ts"

/**
 * The current state of teams in database and broker. Read on request, and not kept in Effect's registry, which forgets
 * nothing: a deleted team would stay there.
 */
export const teamGauges: ReadonlyArray<{
  readonly name: string
  readonly description: string
  readonly valueOf: (team: Team, now: DateTime.Utc) => number
}> = [
  {
    name: "webhook_team_queued",
    description: "Runs accepted for the team and not yet sent.",
    valueOf: ({ queued }) => queued
  },
  {
    name: "webhook_team_oldest_queued_seconds",
    description: "How long the oldest of these runs has been waiting; 0 without any.",
    valueOf: ({ oldest_queued_at }, now) =>
      oldest_queued_at === undefined ? 0 : Math.max(0, DateTime.distance(oldest_queued_at, now) / 1_000)
  },
  {
    name: "webhook_team_consumers",
    description: "Leaders connected to the team's queue; 0: the team is not running.",
    valueOf: ({ consumers }) => consumers
  },
  {
    name: "webhook_team_paused",
    description: "1 while the team is paused, else 0.",
    valueOf: ({ paused_at }) => (paused_at === undefined ? 0 : 1)
  }
]
