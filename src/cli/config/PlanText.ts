/** A plan for people and for programs. */
import { hunkTexts } from "../DiffText.ts"
import { plural, printable } from "../Output.ts"
import type { Change, Plan, Step } from "./Steps.ts"

const marks = { create: "+", change: "~", delete: "-", keep: " " } as const

const longest = 200

const valueText = (value: unknown): string => {
  if (value === undefined) return "not set"
  const text = typeof value === "string" ? value.replace(/\n$/, "").replaceAll("\n", " ↵ ") : JSON.stringify(value)
  return printable(text.length > longest ? `${text.slice(0, longest)}…` : text)
}

const isLong = (value: unknown): value is string => typeof value === "string" && value.includes("\n")

const changeLines = ({ field, from, to }: Change, isNew: boolean): ReadonlyArray<string> => {
  if (isNew) return [`${field}: ${valueText(to)}`]
  if (typeof from === "string" && typeof to === "string" && (isLong(from) || isLong(to))) {
    return [`${field}:`, ...hunkTexts(from, to).flatMap((hunk) => hunk.split("\n").map((line) => `  ${line}`))]
  }
  return [`${field}: ${valueText(from)} → ${valueText(to)}`]
}

const indent = (lines: ReadonlyArray<string>) => lines.map((line) => `    ${line}`.trimEnd())

/** Nothing if there is nothing to say. */
const stepLines = (what: string, step: Step<unknown>, below: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  const { action, changes, name, notes } = step
  const details = [...changes.flatMap((change) => changeLines(change, action === "create")), ...notes]
  if (action === "keep" && details.length === 0 && below.length === 0) return []
  return [`${marks[action]} ${what} ${printable(name)}`, ...indent([...details, ...below])]
}

const stepsOf = ({ alertDestinations, alertRules, teams, webhooks }: Plan): ReadonlyArray<Step<unknown>> => [
  ...teams,
  ...webhooks.flatMap((webhook) => [webhook, ...webhook.destinations]),
  ...alertDestinations,
  ...alertRules
]

const count = (plan: Plan, action: Step<unknown>["action"]) =>
  stepsOf(plan).filter((step) => step.action === action).length

export const hasChanges = (plan: Plan): boolean => stepsOf(plan).some(({ action }) => action !== "keep")

const summary = (plan: Plan) => ({
  create: count(plan, "create"),
  change: count(plan, "change"),
  delete: count(plan, "delete"),
  unchanged: count(plan, "keep")
})

/** What a deletion would delete, for the question. */
export const deletions = ({ alertDestinations, alertRules, teams, webhooks }: Plan): string | undefined => {
  const isDeleted = ({ action }: Step<unknown>) => action === "delete"
  const counts = [
    [webhooks.filter(isDeleted).length, "webhook with all its runs", "webhooks with all their runs"],
    [webhooks.flatMap(({ destinations }) => destinations).filter(isDeleted).length, "destination", "destinations"],
    [alertDestinations.filter(isDeleted).length, "alert destination", "alert destinations"],
    [alertRules.filter(isDeleted).length, "alert rule with its alerts", "alert rules with their alerts"],
    [teams.filter(isDeleted).length, "team", "teams"]
  ] as const
  const texts = counts.filter(([count]) => count > 0).map(([count, one, many]) => plural(count, one, many))
  return texts.length === 0 ? undefined : texts.join(", ")
}

export const planText = (plan: Plan): string => {
  const { change, create, unchanged, ...counts } = summary(plan)
  const lines = [
    ...plan.teams.flatMap((step) => stepLines("team", step)),
    ...plan.webhooks.flatMap((step) =>
      stepLines(
        "webhook",
        step,
        step.destinations.flatMap((step) => stepLines("destination", step))
      )
    ),
    ...plan.alertDestinations.flatMap((step) => stepLines("alert destination", step)),
    ...plan.alertRules.flatMap((step) => stepLines("alert rule", step))
  ]
  const left = plan.left.length === 0 ? [] : ["Not in the files; --prune deletes:", ...indent(plan.left.map(printable))]
  const total = hasChanges(plan)
    ? `Plan: ${create} to create, ${change} to change, ${counts.delete} to delete, ${unchanged} unchanged.`
    : `No changes: ${unchanged} unchanged.`
  return [lines, left, [total]]
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")
}

const stepJson = (kind: string, { action, changes, name, notes }: Step<unknown>) => ({
  kind,
  name,
  action: action === "keep" ? "unchanged" : action,
  changes,
  notes
})

export const planJson = (plan: Plan) => ({
  summary: summary(plan),
  steps: [
    ...plan.teams.map((step) => stepJson("team", step)),
    ...plan.webhooks.flatMap((step) => [
      stepJson("webhook", step),
      ...step.destinations.map((each) => ({ ...stepJson("destination", each), webhook: step.name }))
    ]),
    ...plan.alertDestinations.map((step) => stepJson("alert_destination", step)),
    ...plan.alertRules.map((step) => stepJson("alert_rule", step))
  ],
  left: plan.left
})
