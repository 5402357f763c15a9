import { Schema } from "effect"
import { teamNameAccepts, teamNamePattern } from "./TeamName.ts"
import { optional, time } from "./Time.ts"

/** A team's name, a slug that becomes part of a queue's name and of addresses. */
export const TeamName = Schema.String.pipe(
  Schema.pattern(teamNamePattern, { message: () => teamNameAccepts }),
  Schema.brand("TeamName"),
  Schema.annotations({ description: "A team's name: lower-case letters, digits and hyphens." })
)
export type TeamName = typeof TeamName.Type

export const Team = Schema.Struct({
  team: TeamName,
  running: Schema.Boolean.annotations({ description: "Whether at least one leader is consuming the team's queue." }),
  consumers: Schema.Number.annotations({
    description: "How many leaders are connected; only one of them works at a time."
  }),
  queued: Schema.Number.annotations({
    description: "Runs and chat messages accepted for the team and not yet sent to it."
  }),
  paused_at: optional(
    time("Since when the team is paused: what is accepted for it waits, and nothing is sent. Absent: it is not paused.")
  ),
  created_at: time("When the team was created.")
}).annotations({ identifier: "Team", description: "A team that webhooks can put to work." })
export type Team = typeof Team.Type

/** The fields of a new team. */
export const TeamDraft = Schema.Struct({ team: TeamName })

/** A team as stored. The bus knows whether it is running. */
export type TeamRecord = Omit<Team, "running" | "consumers">
