/** A plan for people and for programs. */
import { type Step, summaryOf } from "../../domain/Configuration.ts"
import { hunkTexts } from "../DiffText.ts"
import { plural, printable } from "../Output.ts"

export interface Plan {
  readonly steps: ReadonlyArray<Step>
  readonly left: ReadonlyArray<string>
}

const marks = { create: "+", change: "~", delete: "-", unchanged: " " } as const

const longest = 200

const valueText = (value: unknown): string => {
  if (value === undefined) return "not set"
  const text = typeof value === "string" ? value.replace(/\n$/, "").replaceAll("\n", " ↵ ") : JSON.stringify(value)
  return printable(text.length > longest ? `${text.slice(0, longest)}…` : text)
}

const isLong = (value: unknown): value is string => typeof value === "string" && value.includes("\n")

const changeLines = ({ field, from, to }: Step["changes"][number], isNew: boolean): ReadonlyArray<string> => {
  if (isNew) return [`${field}: ${valueText(to)}`]
  if (typeof from === "string" && typeof to === "string" && (isLong(from) || isLong(to))) {
    return [`${field}:`, ...hunkTexts(from, to).flatMap((hunk) => hunk.split("\n").map((line) => `  ${line}`))]
  }
  return [`${field}: ${valueText(from)} → ${valueText(to)}`]
}

const indent = (lines: ReadonlyArray<string>) => lines.map((line) => `    ${line}`.trimEnd())

/** Nothing if there is nothing to say. */
const stepLines = ({ action, changes, kind, name, notes }: Step, below: ReadonlyArray<string>) => {
  const details = [...changes.flatMap((change) => changeLines(change, action === "create")), ...notes, ...below]
  return action === "unchanged" && details.length === 0
    ? []
    : [`${marks[action]} ${kind.replace("_", " ")} ${printable(name)}`, ...indent(details)]
}

/** The steps of a webhook's destinations follow its own. */
const linesOf = (steps: ReadonlyArray<Step>): ReadonlyArray<string> =>
  steps.flatMap((step, at) => {
    if (step.kind === "destination") return []
    const end = steps.findIndex(({ kind }, place) => place > at && kind !== "destination")
    const inside = steps.slice(at + 1, end < 0 ? undefined : end)
    return stepLines(
      step,
      inside.flatMap((each) => stepLines(each, []))
    )
  })

export const hasChanges = ({ steps }: Plan): boolean => steps.some(({ action }) => action !== "unchanged")

const deletionWords = {
  webhook: ["webhook with all its runs", "webhooks with all their runs"],
  destination: ["destination", "destinations"],
  alert_destination: ["alert destination", "alert destinations"],
  alert_rule: ["alert rule with its alerts", "alert rules with their alerts"],
  team: ["team", "teams"]
} as const satisfies Record<Step["kind"], readonly [string, string]>

/** The objects that a plan would delete, for the question. */
export const deletions = ({ steps }: Plan): string | undefined => {
  const texts = Object.entries(deletionWords).flatMap(([kind, [one, many]]) => {
    const { length } = steps.filter((step) => step.kind === kind && step.action === "delete")
    return length === 0 ? [] : [plural(length, one, many)]
  })
  return texts.length === 0 ? undefined : texts.join(", ")
}

export const planText = (plan: Plan): string => {
  const { change, create, unchanged, ...counts } = summaryOf(plan.steps)
  const left = plan.left.length === 0 ? [] : ["Not in the files; --prune deletes:", ...indent(plan.left.map(printable))]
  const total = hasChanges(plan)
    ? `Plan: ${create} to create, ${change} to change, ${counts.delete} to delete, ${unchanged} unchanged.`
    : `No changes: ${unchanged} unchanged.`
  return [linesOf(plan.steps), left, [total]]
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")
}

export const planJson = ({ left, steps }: Plan) => ({
  summary: summaryOf(steps),
  steps: steps.map(({ pointer: _, ...step }) => step),
  left
})
