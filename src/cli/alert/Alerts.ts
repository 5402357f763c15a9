/** What is wrong now, and when alerts begin. */
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Alert, AlertState, describeAlert } from "../../domain/alert/Alert.ts"
import { type AlertCondition, alertConditionNames, conditionOf } from "../../domain/alert/AlertCondition.ts"
import { AlertRule } from "../../domain/alert/AlertRule.ts"
import { DestinationId, WebhookId } from "../../domain/Id.ts"
import { TeamName } from "../../domain/Team.ts"
import type { Group } from "../Commands.ts"
import { confirm, yes } from "../Confirm.ts"
import { adminOptions, call, done, show } from "../Connection.ts"
import { about } from "../Help.ts"
import { ago, fields, table } from "../Output.ts"
import { validated } from "../Validated.ts"
import { alertDestinations } from "../webhook/Destinations.ts"

const scopeOf = ({ team, webhook_id }: AlertRule): string =>
  webhook_id !== undefined ? `webhook ${webhook_id}` : team !== undefined ? `team ${team}` : "all"

const thresholdOf = ({ condition, threshold, window_hours }: AlertRule): string =>
  `${threshold} ${conditionOf(condition).threshold.unit}${window_hours === undefined ? "" : ` in ${window_hours} h`}`

const describe = (rule: AlertRule): string =>
  fields({
    rule: rule.id,
    condition: rule.condition,
    threshold: thresholdOf(rule),
    for: scopeOf(rule),
    destinations: rule.destination_ids?.join(" ") ?? "all",
    state: rule.enabled ? "on" : "off"
  })

const list = Command.make("list", adminOptions, (options) =>
  Effect.gen(function* () {
    const { data } = yield* call(options, (client) => client.alerts.rules())
    yield* show(options, Schema.Array(AlertRule), data, () =>
      data.length === 0
        ? "No rules yet. Add one: webhook-trigger alert rule add failures_in_a_row"
        : table(
            ["ID", "STATE", "CONDITION", "THRESHOLD", "FOR"],
            data.map((one) => [one.id, one.enabled ? "on" : "off", one.condition, thresholdOf(one), scopeOf(one)])
          )
    )
  })
).pipe(Command.withDescription("List the rules"))

const conditionName = Schema.Literals(alertConditionNames).annotate({
  message: () => ({ message: `takes one of ${alertConditionNames.join(", ")}`, override: true })
})

const condition = Argument.String({ name: "condition" }).pipe(
  Argument.withDescription("What is measured, such as failures_in_a_row"),
  Argument.mapTryCatch(...validated<AlertCondition>("<condition>", conditionName))
)

const rule = Argument.String({ name: "rule-id" }).pipe(Argument.withDescription("The rule's id, as `alert rule list` shows it"))

const notFound = (id: string) => `No alert rule has the id ${JSON.stringify(id)}; see webhook-trigger alert rule list`

const ids = Schema.compose(Schema.split(","), Schema.Array(DestinationId)).annotate({
  message: () => ({ message: "takes ids of alert destinations, separated by commas", override: true })
})

const fieldOptions = {
  threshold: Flag.Float("threshold").pipe(
    Flag.withDescription("The value at which the alert begins; each condition has a default"),
    Flag.optional
  ),
  hours: Flag.Integer("hours").pipe(
    Flag.withDescription("For failure_rate, latency and cost: how many hours count"),
    Flag.optional
  ),
  destinations: Flag.String("destinations").pipe(
    Flag.withMetavar("ids"),
    Flag.withDescription("The alert destinations that get its alerts, separated by commas (default: all)"),
    Flag.mapTryCatch(...validated<ReadonlyArray<DestinationId>>("--destinations", ids)),
    Flag.optional
  )
}

const given = ({ destinations, hours, threshold }: Command.Command.ParseConfig<typeof fieldOptions>) => ({
  ...(Option.isSome(threshold) && { threshold: threshold.value }),
  ...(Option.isSome(hours) && { window_hours: hours.value }),
  ...(Option.isSome(destinations) && { destination_ids: destinations.value })
})

const webhook = Flag.String("webhook").pipe(
  Flag.withMetavar("id"),
  Flag.withDescription("Only this webhook"),
  Flag.mapTryCatch(...validated<WebhookId>("--webhook", WebhookId)),
  Flag.optional
)

const team = Flag.String("team").pipe(
  Flag.withDescription("Only this team, with its webhooks"),
  Flag.mapTryCatch(...validated<TeamName>("--team", TeamName)),
  Flag.optional
)

const add = Command.make("add", { condition, webhook, team, ...fieldOptions, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const payload = {
      condition: options.condition,
      ...given(options),
      ...(Option.isSome(options.webhook) && { webhook_id: options.webhook.value }),
      ...(Option.isSome(options.team) && { team: options.team.value })
    }
    const created = yield* call(options, (client) => client.alerts.createRule({ payload }))
    yield* show(options, AlertRule, created, describe)
  })
).pipe(
  Command.withDescription(
    about("Add a rule", {
      details: `Without --webhook and --team, it covers everything. Conditions: ${alertConditionNames.join(", ")}.`,
      examples: [
        "webhook-trigger alert rule add failures_in_a_row",
        "webhook-trigger alert rule add queue_age --team review --threshold 30"
      ]
    })
  )
)

const edit = Command.make(
  "edit",
  {
    ...{ rule, ...fieldOptions },
    allDestinations: Flag.Boolean("all-destinations").pipe(
      Flag.withDescription("Send its alerts to all alert destinations again")
    ),
    ...adminOptions
  },
  (options) =>
    Effect.gen(function* () {
      const payload = { ...given(options), ...(options.allDestinations && { destination_ids: null }) }
      const edited = yield* call(
        options,
        (client) => client.alerts.editRule({ path: { rule_id: options.rule }, payload }),
        notFound(options.rule)
      )
      yield* show(options, AlertRule, edited, describe)
    })
).pipe(Command.withDescription("Edit a rule"))

const toggle = (name: "enable" | "disable", description: string) =>
  Command.make(name, { rule, ...adminOptions }, (options) =>
    Effect.gen(function* () {
      const edited = yield* call(
        options,
        (client) =>
          client.alerts.editRule({ path: { rule_id: options.rule }, payload: { enabled: name === "enable" } }),
        notFound(options.rule)
      )
      yield* show(options, AlertRule, edited, ({ enabled }) => `The rule is ${enabled ? "on" : "off"}.`)
    })
  ).pipe(Command.withDescription(description))

const remove = Command.make("delete", { rule, yes, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    yield* confirm(options.yes, "Delete the rule and its alerts?")
    yield* call(
      options,
      (client) => client.alerts.deleteRule({ path: { rule_id: options.rule } }),
      notFound(options.rule)
    )
    yield* done(options, "Rule deleted.")
  })
).pipe(Command.withDescription("Delete a rule and its alerts"))

const rules: Group = {
  name: "rule",
  about: "Rules: when alerts begin.",
  commands: [
    list,
    add,
    edit,
    toggle("enable", "Switch a rule on"),
    toggle("disable", "Switch a rule off, which resolves its alerts"),
    remove
  ]
}

const state = Flag.Choice("state", AlertState.literals).pipe(
  Flag.withDescription("Only alerts in this state"),
  Flag.optional
)

const listAlerts = Command.make("list", { state, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const urlParams = { limit: 100, ...(Option.isSome(options.state) && { state: options.state.value }) }
    const { data } = yield* call(options, (client) => client.alerts.list({ urlParams }))
    yield* show(options, Schema.Array(Alert), data, () =>
      data.length === 0
        ? "No alerts."
        : table(
            ["STATE", "SINCE", "RESOLVED", "ALERT"],
            data.map((one) => [one.state, ago(one.since), ago(one.resolved_at), describeAlert(one)])
          )
    )
  })
).pipe(Command.withDescription("List the newest 100 alerts"))

export const alerts: Group = {
  name: "alert",
  about: "Alerts: what is wrong now, when alerts begin, and who gets them.",
  commands: [listAlerts, rules, alertDestinations]
}
