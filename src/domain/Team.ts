import { Schema } from "effect"

/** A team's name, a slug: it becomes part of a queue's name and of addresses. */
export const TeamName = Schema.String.pipe(
  Schema.pattern(/^[a-z0-9][a-z0-9-]{0,62}$/, {
    message: () => "must be 1 to 63 lower-case letters, digits or hyphens, starting with a letter or digit"
  }),
  Schema.brand("TeamName")
)
export type TeamName = typeof TeamName.Type

export const Team = Schema.Struct({
  team: TeamName,
  /** Whether at least one leader is consuming the team's queue. */
  running: Schema.Boolean,
  /** How many leaders are connected; only one of them works at a time. */
  consumers: Schema.Number,
  /** Runs and chat messages accepted for the team and not yet sent to it. */
  queued: Schema.Number,
  created_at: Schema.Date
}).annotations({ identifier: "Team" })
export type Team = typeof Team.Type
