import type { Team } from "../../domain/Team.ts"

/**
 * The current state of teams in database and broker. Read on request, and not kept in Effect's registry, which forgets
 * nothing: a deleted team would stay there.
 */
export const teamGauges: ReadonlyArray<{
  readonly name: string
  readonly description: string
  readonly valueOf: (team: Team) => number
}> = [
  {
    name: "webhook_team_queued",
    description: "Runs accepted for the team and not yet sent.",
    valueOf: ({ queued }) => queued
  },
  {
    name: "webhook_team_consumers",
    description: "Leaders connected to the team's queue or over HTTP; 0: the team is not running.",
    valueOf: ({ consumers }) => consumers
  },
  {
    name: "webhook_team_paused",
    description: "1 while the team is paused, else 0.",
    valueOf: ({ paused_at }) => (paused_at === undefined ? 0 : 1)
  },
  {
    name: "webhook_team_resting",
    description: "1 while the team rests because of a usage limit, else 0.",
    valueOf: ({ resting_until }) => (resting_until === undefined ? 0 : 1)
  }
]
