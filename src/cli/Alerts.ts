/** Current alerts, and the rules by which they begin. */
import { type Alert, describeAlert } from "../domain/alert/Alert.ts"
import { alertConditionNames } from "../domain/alert/AlertCondition.ts"
import { type AlertRule, thresholdOf } from "../domain/alert/AlertRule.ts"
import { derived, group } from "./Command.ts"
import { alertDestinations, dataOf } from "./Destinations.ts"
import { fields, listText, shortId, shortIdOf } from "./Output.ts"

const scopeOf = ({ team, webhook_id }: AlertRule): string =>
  webhook_id !== undefined ? `webhook ${shortId(webhook_id)}` : team !== undefined ? `team ${team}` : "all"

const stateOf = ({ enabled }: AlertRule): string => (enabled ? "on" : "off")

const describe = (rule: AlertRule): string =>
  fields({
    rule: rule.id,
    condition: rule.condition,
    threshold: thresholdOf(rule),
    for: scopeOf(rule),
    destinations: rule.destination_ids?.join(" ") ?? "all",
    state: stateOf(rule)
  })

const toggle = (name: string, about: string, enabled: boolean) =>
  derived(name, "alerts.editRule", {
    about,
    set: { payload: { enabled } },
    text: (rule) => `The rule is ${stateOf(rule)}.`
  })

const rules = group("rule", "Rules: when alerts begin.", [
  derived("list", "alerts.rules", {
    json: dataOf,
    text: listText<AlertRule>(
      { CONDITION: "condition", THRESHOLD: thresholdOf, FOR: scopeOf, STATE: stateOf, ID: shortIdOf },
      "No rules yet. Add one: webhook-trigger alert rule add failures_in_a_row"
    )
  }),
  derived("add", "alerts.createRule", {
    details: `Without --webhook and --team, it covers everything. Conditions: ${alertConditionNames.join(", ")}.`,
    examples: [
      "webhook-trigger alert rule add failures_in_a_row",
      "webhook-trigger alert rule add queue_age --team review --threshold 30"
    ],
    text: describe
  }),
  derived("edit", "alerts.editRule", { text: describe }),
  toggle("enable", "Switch a rule on", true),
  toggle("disable", "Switch a rule off, which resolves its alerts", false),
  derived("delete", "alerts.deleteRule", {
    ask: () => "Delete the rule and its alerts?",
    text: () => "Rule deleted."
  })
])

export const alerts = group("alert", "Alerts: what is wrong now, when alerts begin, and who gets them.", [
  derived("list", "alerts.list", {
    about: "List the newest 100 alerts",
    set: { query: { limit: "100" } },
    json: dataOf,
    text: listText<Alert>(
      { STATE: "state", SINCE: "since", RESOLVED: "resolved_at", ALERT: describeAlert },
      "No alerts."
    )
  }),
  rules,
  alertDestinations
])
