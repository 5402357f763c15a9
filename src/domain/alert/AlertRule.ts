/** When an alert begins, and who gets it. */
import { Schema } from "effect"
import { VariantSchema } from "effect/schema"
import { AlertRuleId, DestinationId, WebhookId } from "../Id.ts"
import { Int } from "../SchemaParts.ts"
import { TeamName } from "../Team.ts"
import { optional, time } from "../Time.ts"
import { type AlertCondition, alertConditionNames, conditionOf } from "./AlertCondition.ts"

const { Field, FieldExcept, Struct, extract } = VariantSchema.make({
  variants: ["json", "draft", "edit"],
  defaultVariant: "json"
})

export const maxRules = 200
/** Counts are kept by hour for a week. */
const maxHours = 24 * 7

const AlertConditionName = Schema.Literals(alertConditionNames).annotate({
  identifier: "AlertCondition",
  description: "What is measured. It cannot be changed."
})

const generated = FieldExcept(["draft", "edit"])

/** Fixed when the rule is created. */
const fixed = <S extends Schema.Top>(schema: S) => Field({ json: optional(schema), draft: optional(schema) })

const threshold = Schema.Finite.annotate({
  description:
    "The alert begins when the measured value reaches it. Its unit depends on the condition: runs, percent, seconds, minutes or US dollars. Each condition has a default."
})

const hours = Int.check(Schema.isBetween({ minimum: 1, maximum: maxHours })).annotate({
  description:
    "For `failure_rate`, `latency` and `cost`: how many full hours count, in addition to the current one. Default: 1, for `cost` 24."
})

const destinationIds = Schema.Array(DestinationId)
  .check(Schema.isMaxLength(20))
  .annotate({ description: "The alert destinations that get its alerts. Absent: all of them." })

const enabled = Schema.Boolean.annotate({ description: "Switched off, it has no alerts. Default: switched on." })

const record = Struct({
  id: generated(AlertRuleId),
  condition: Field({ json: AlertConditionName, draft: AlertConditionName }),
  threshold: Field({ json: threshold, draft: optional(threshold), edit: optional(threshold) }),
  window_hours: Field({ json: optional(hours), draft: optional(hours), edit: optional(hours) }),
  webhook_id: fixed(WebhookId.annotate({ description: "Only this webhook." })),
  team: fixed(
    TeamName.annotate({ description: "Only this team: its webhooks, or for some conditions the team itself." })
  ),
  destination_ids: Field({
    json: optional(destinationIds),
    draft: optional(destinationIds),
    edit: optional(Schema.NullOr(destinationIds).annotate({ description: "`null`: all alert destinations." }))
  }),
  enabled: Field({ json: enabled, draft: optional(enabled), edit: optional(enabled) }),
  created_at: generated(time("When it was created.")),
  updated_at: generated(time("When it was last edited."))
})

export const AlertRule = extract(record, "json").annotate({
  identifier: "AlertRule",
  description: "When an alert begins. Without `webhook_id` and `team`, it covers all webhooks or teams."
})
export type AlertRule = typeof AlertRule.Type

export const AlertRuleDraft = extract(record, "draft").annotate({
  identifier: "AlertRuleDraft",
  description: "A new rule."
})
export type AlertRuleDraft = typeof AlertRuleDraft.Type

export const AlertRuleEdit = extract(record, "edit").annotate({
  identifier: "AlertRuleEdit",
  description: "The fields to change."
})
export type AlertRuleEdit = typeof AlertRuleEdit.Type

/** Faults that the schema cannot find. */
export const faultsOfRule = (
  condition: AlertCondition,
  {
    team,
    threshold,
    webhook_id,
    window_hours
  }: Pick<AlertRuleDraft, "team" | "threshold" | "window_hours"> & {
    readonly webhook_id?: unknown
  }
) => {
  const { hours, of, threshold: limits } = conditionOf(condition)
  const { max, min, whole } = limits
  const isWrong =
    threshold !== undefined && (threshold < min || threshold > max || (whole && !Number.isInteger(threshold)))
  const faults = [
    ["threshold", isWrong && `must be ${whole ? "a whole number" : "a number"} from ${min} to ${max}`],
    ["window_hours", window_hours !== undefined && hours === undefined && `is not a field of ${condition}`],
    ["webhook_id", webhook_id !== undefined && of === "team" && `cannot be set for ${condition}, which covers teams`],
    ["webhook_id", webhook_id !== undefined && team !== undefined && "cannot be set together with `team`"]
  ] as const
  return faults.flatMap(([field, detail]) => (detail === false ? [] : [{ field, detail }]))
}

/** With its unit, such as `2.5 US dollars in 48 h`. */
export const thresholdOf = ({ condition, threshold, window_hours }: AlertRule): string =>
  `${threshold} ${conditionOf(condition).threshold.unit}${window_hours === undefined ? "" : ` in ${window_hours} h`}`

/** Whether both rules have the same alerts, for the same destinations: one of them is needless. */
export const isSameRule = (one: Omit<AlertRule, "id">, other: Omit<AlertRule, "id">): boolean => {
  const idsOf = ({ destination_ids: ids }: Pick<AlertRule, "destination_ids">) =>
    ids === undefined ? "all" : [...new Set(ids)].sort().join()
  const fields = ["condition", "webhook_id", "team", "threshold", "window_hours", "enabled"] as const
  return fields.every((field) => one[field] === other[field]) && idsOf(one) === idsOf(other)
}
