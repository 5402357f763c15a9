import { Schema } from "effect"
import { RunId } from "./Id.ts"
import { allStatuses } from "./run/RunStatus.ts"
import { teamNameAccepts, teamNamePattern } from "./TeamName.ts"
import { optional, time } from "./Time.ts"

/** A team's name, a slug that becomes part of a queue's name and of addresses. */
export const TeamName = Schema.String.check(
  Schema.makeFilter((text) => teamNamePattern.test(text) || teamNameAccepts, {
    toJsonSchema: () => ({ pattern: teamNamePattern.source }),
    arbitraryConstraint: { patterns: [teamNamePattern] }
  })
).pipe(
  Schema.brand("TeamName"),
  Schema.annotate({ description: "A team's name: lower-case letters, digits and hyphens." })
)
export type TeamName = typeof TeamName.Type

export const TeamWork = Schema.Struct({
  run_id: RunId,
  status: Schema.Literals(allStatuses).annotate({
    description: "The run's status. If it is final, the run has ended, but its agent may still work."
  }),
  since: time("When the leader reported that it started; before that, when it was sent."),
  stop_at: optional(time("Of an ended run: when its leader is, or was, told to stop.")),
  released_at: optional(
    time(
      "When it was released, and the team could get its next prompt, although the leader had not confirmed that the agent has stopped."
    )
  )
}).annotate({ identifier: "TeamWork", description: "A run that the team's leader has, or may still have." })
export type TeamWork = typeof TeamWork.Type

export const Team = Schema.Struct({
  team: TeamName,
  running: Schema.Boolean.annotate({
    description: "Whether at least one leader is connected: it consumes the team's queue, or uses HTTP."
  }),
  consumers: Schema.Finite.annotate({
    description: "How many leaders are connected; only one of them works at a time."
  }),
  queued: Schema.Finite.annotate({
    description: "Runs and chat messages accepted for the team and not yet sent to it."
  }),
  at_work: optional(
    Schema.Array(TeamWork).annotate({
      description:
        "What holds the team: ended runs whose agents may still work, oldest first, then the oldest run that was sent. Absent: nothing."
    })
  ),
  paused_at: optional(
    time("Since when the team is paused: what is accepted for it waits, and nothing is sent. Absent: it is not paused.")
  ),
  resting_since: optional(
    time(
      "Since when the team rests, because its agent has reached a usage limit: what is accepted for it waits, and nothing is sent. Absent: it does not rest."
    )
  ),
  resting_until: optional(time("When the rest ends, unless the team is resumed before that.")),
  resting_reason: optional(Schema.String.annotate({ description: "The limit in the agent's words." })),
  created_at: time("When the team was created.")
}).annotate({ identifier: "Team", description: "A team that webhooks can put to work." })
export type Team = typeof Team.Type

export const TeamReleased = Schema.Struct({
  released: Schema.Array(RunId).annotate({ description: "The runs that no longer hold the team." })
}).annotate({ identifier: "TeamReleased", description: "What the team was released from." })
export type TeamReleased = typeof TeamReleased.Type

/** The fields of a new team. */
export const TeamDraft = Schema.Struct({ team: TeamName })

/** A team as stored. The bus knows whether it is running. */
export type TeamRecord = Omit<Team, "running" | "consumers">
