import { Schema } from "effect"
import { Int } from "../SchemaParts.ts"
import { optional, time } from "../Time.ts"
import { heldFor } from "./Held.ts"
import { Run } from "./Run.ts"

/** The maximum number of earlier runs that are counted for a queued one. */
export const mostCounted = 1_000

/** Why a queued run has not been sent: the first reason of these that holds. */
export const WaitsFor = Schema.Struct({
  code: Schema.Literals([
    ...heldFor,
    "team_paused",
    "usage_limit",
    "leader",
    "earlier_runs",
    "earlier_work",
    "slot",
    "broker"
  ]).annotate({
    description:
      "The run waits for its window to close (`window`), for its webhook or its team to be resumed (`webhook_paused`, `team_paused`), for its approval (`approval`), for its time (`time`), for a leader (`leader`), or for earlier runs of its team (`earlier_runs`). `usage_limit`: its team rests, because its agent has reached a usage limit. `earlier_work`: the team's last run has ended, but its agent is still at work. `slot`: the limit of agents at work is reached. `broker`: the broker is out of reach, or has not confirmed the prompt."
  }),
  message: Schema.String.annotate({ description: "The reason as a sentence." }),
  until: optional(time("When that ends: of a held run, as in `held_until`; with `usage_limit`, the team's rest.")),
  runs: optional(
    Int.annotate({
      description: `With \`earlier_runs\`: how many runs and messages of the team come first, counted up to ${mostCounted}.`
    })
  )
}).annotate({ identifier: "WaitsFor", description: "Why a queued run has not been sent." })
export type WaitsFor = typeof WaitsFor.Type

/** One run by itself. */
export const ShownRun = Schema.Struct({
  ...Run.fields,
  waits_for: optional(WaitsFor).annotate({
    description: "Of a queued run: why it has not been sent. Absent: it is about to be sent."
  }),
  decision_refusal: optional(
    Schema.String.annotate({
      description: "Of a run that waits for approval: why you may not approve or deny it. Absent: you may."
    })
  )
}).annotate({ identifier: "ShownRun", description: "One execution, and why it waits if it is queued." })
export type ShownRun = typeof ShownRun.Type
