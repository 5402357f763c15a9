import { Schema } from "effect"
import { AlertId, AlertRuleId, DestinationId, WebhookId } from "../Id.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import { alertConditionNames, describeMeasured, pausedCondition } from "./AlertCondition.ts"

export const AlertState = Schema.Literals(["firing", "resolved"]).annotate({
  identifier: "AlertState",
  description: "`firing`: the condition holds. `resolved`: it no longer holds."
})
export type AlertState = typeof AlertState.Type

export const Alert = Schema.Struct({
  id: AlertId,
  rule_id: optional(
    AlertRuleId.annotate({ description: "Absent for the automatic pause of a webhook, which has no rule." })
  ),
  condition: Schema.Literals([...alertConditionNames, pausedCondition]).annotate({
    identifier: "AlertedCondition",
    description: "The condition of its rule, or `paused`: the webhook is paused because runs failed in a row."
  }),
  state: AlertState,
  name: Schema.String.annotate({ description: "The name of the webhook or team that it is about." }),
  webhook_id: optional(WebhookId),
  team: optional(TeamName),
  destination_id: optional(DestinationId.annotate({ description: "The destination that fails." })),
  threshold: Schema.Finite.annotate({ description: "The rule's threshold when the alert began." }),
  value: Schema.Finite.annotate({ description: "What was measured when the alert began." }),
  since: time("When it began."),
  resolved_at: optional(time("When it was resolved.")),
  notified_at: optional(
    time("When a message was sent that it began. Absent: none was, because one was sent shortly before.")
  )
}).annotate({
  identifier: "Alert",
  description: "A time during which the condition of a rule held, or a webhook was paused automatically."
})
export type Alert = typeof Alert.Type

/** For people, in one line, such as “deploy-review: 3 runs failed in a row”. */
export const describeAlert = ({
  condition,
  destination_id,
  name,
  value
}: Pick<Alert, "condition" | "name" | "value"> & { readonly destination_id?: string | undefined }): string =>
  `${name}: ${destination_id === undefined ? "" : "a destination "}${describeMeasured(condition, value)}`
