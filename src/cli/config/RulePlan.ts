/** The changes of alert rules. Rules have no names, so they are matched by equal settings, then by order. */
import { isDeepStrictEqual } from "node:util"
import type { AlertRule } from "../../domain/alert/AlertRule.ts"
import { thresholdOf } from "../Alerts.ts"
import { nameOfDestination } from "./DestinationPlan.ts"
import { exceeded, limitedRule, limitsOfRule } from "./Limits.ts"
import { changesOf, compared, type Planning, step, unplanned } from "./Planning.ts"
import type { Alerts, Change, DestinationStep, RuleStep, State, Step, WebhookStep } from "./Steps.ts"
import type { WantedRule } from "./WantedRule.ts"
import type { Path } from "./YamlFile.ts"

/** An object that a rule can refer to. */
interface Target {
  readonly kind: "webhook" | "destination"
  /** For people. */
  readonly name: string
  /** The text that refers to it in a file, besides its ID. */
  readonly text: string | undefined
  /** Absent: it is created first. */
  readonly id: string | undefined
  /** Its ID in the files, perhaps of another server. */
  readonly fileId?: string | undefined
}

/** The ID of a target, or what stands for it until it has one. */
export const reference = ({ fileId, id, kind, name }: Omit<Target, "text">): string =>
  id ?? `new ${kind} ${fileId ?? name}`

/** What stays or is created by a plan. */
const isThere = ({ action }: Step<unknown>): boolean => action !== "delete"

export const webhookTargets = ({
  planned,
  webhooks
}: Pick<Existing, "webhooks"> & {
  readonly planned: Pick<Existing["planned"], "webhooks">
}): ReadonlyArray<Target> =>
  [
    ...planned.webhooks
      .filter(isThere)
      .map(({ before, name, wanted }) => ({ id: before?.id, name, fileId: wanted?.id })),
    ...unplanned(webhooks, planned.webhooks).map(({ id, name }) => ({ id, name, fileId: undefined }))
  ].map((one) => ({ kind: "webhook", ...one, text: one.name }))

/** The reference to a target: by its ID, else by its text. */
export const findTarget = (targets: ReadonlyArray<Target>, text: string, fault: (detail: string) => void): string => {
  const named = targets.filter((target) => target.text === text)
  const identified = targets.find(({ id }) => id === text) ?? targets.find(({ fileId }) => fileId === text)
  const found = identified ?? named[0]
  if (found === undefined) fault(`does not exist: ${JSON.stringify(text)}`)
  else if (identified === undefined && named.length > 1) {
    fault(`matches several; use the ID of one: ${named.map(({ id }) => id ?? "(new)").join(", ")}`)
  }
  return found === undefined ? text : reference(found)
}

/** Files refer to those without a description by ID. */
const destinationTargets = ({ alerts, planned }: Existing): ReadonlyArray<Target> => [
  ...planned.alertDestinations.filter(isThere).map(
    ({ before, name, wanted }): Target => ({
      ...{ kind: "destination", id: before?.id, name, fileId: wanted?.id },
      text: wanted?.shown.description as string | undefined
    })
  ),
  ...unplanned(alerts.destinations, planned.alertDestinations).map(
    (one): Target => ({ kind: "destination", id: one.id, name: nameOfDestination(one), text: one.description })
  )
]

/** A rule, comparable with others: what it covers, and its settings. */
interface Comparable {
  readonly of: { readonly condition: string; readonly team: string | undefined; readonly webhook: string | undefined }
  readonly settings: {
    readonly threshold: number
    readonly window_hours: number | undefined
    /** References, sorted. */
    readonly destinations: ReadonlyArray<string> | undefined
  }
  readonly enabled: boolean
}

const sorted = (ids: ReadonlyArray<string> | undefined) => ids && [...new Set(ids)].sort()

interface Existing {
  readonly webhooks: State["webhooks"]
  readonly alerts: Alerts
  readonly planned: {
    readonly webhooks: ReadonlyArray<WebhookStep>
    readonly alertDestinations: ReadonlyArray<DestinationStep>
  }
}

export const ruleSteps = (
  entries: ReadonlyArray<WantedRule>,
  state: Existing,
  { faults, others }: Planning
): ReadonlyArray<RuleStep> => {
  const { alerts, webhooks } = state
  const [ofWebhooks, ofDestinations] = [webhookTargets(state), destinationTargets(state)]

  const nameOf = (targets: ReadonlyArray<Target>, id: string) =>
    targets.find((target) => reference(target) === id)?.name
  /** For people, such as `cost of the webhook nightly`. */
  const titleOf = ({ condition, team, webhook }: Comparable["of"]): string =>
    webhook !== undefined
      ? `${condition} of the webhook ${nameOf(ofWebhooks, webhook) ?? webhooks.find(({ id }) => id === webhook)?.name}`
      : team !== undefined
        ? `${condition} of the team ${team}`
        : condition
  /** Of destinations; absent: all. */
  const namesOf = (ids: unknown) =>
    (ids as ReadonlyArray<string> | undefined)?.map((id) => nameOf(ofDestinations, id) ?? id).sort() ?? "all"
  const withNames = ({ field, from, to }: Change, isNew: boolean): Change => ({
    field,
    ...(!isNew && { from: namesOf(from) }),
    to: namesOf(to)
  })

  const isDestination = (id: string) => alerts.destinations.some((one) => one.id === id)
  const stored = ({ condition, destination_ids, enabled, team, threshold, webhook_id, window_hours }: AlertRule) => ({
    of: { condition, team, webhook: webhook_id },
    // Destinations that were deleted stay in the list.
    settings: { threshold, window_hours, destinations: sorted(destination_ids?.filter(isDestination)) },
    enabled
  })
  const existing = alerts.rules.map((before) => ({ before, ...stored(before) }))

  const wanted = entries.map(({ destinations, fault, fields, shown, webhook }) => {
    const at = (path: Path) => (detail: string) => void faults.push(fault(path, detail))
    return {
      ...{ fault, fields },
      of: {
        condition: fields.condition,
        team: fields.team,
        webhook: webhook === undefined ? undefined : findTarget(ofWebhooks, webhook, at(["webhook"]))
      },
      settings: {
        ...shown,
        destinations: sorted(
          destinations?.map((text, index) => findTarget(ofDestinations, text, at(["destinations", index])))
        )
      },
      enabled: fields.enabled ?? true
    }
  })
  wanted.forEach(({ enabled, fault, of, settings }, at) => {
    const isSame = (other: Comparable) => isDeepStrictEqual({ of, settings, enabled }, pick(other))
    if (wanted.slice(0, at).some(isSame)) faults.push(fault([], "is listed twice"))
  })

  const matches = wanted.map(() => undefined as (typeof existing)[number] | undefined)
  const match = (isMatch: (one: Comparable, other: Comparable) => boolean) =>
    wanted.forEach((one, at) => {
      matches[at] ??= existing.find((other) => !matches.includes(other) && isMatch(one, other))
    })
  const isAlike = (one: Comparable, other: Comparable) => isDeepStrictEqual(one.of, other.of)
  match((one, other) => isDeepStrictEqual(pick(one), pick(other)))
  match((one, other) => isAlike(one, other) && isDeepStrictEqual(one.settings, other.settings))
  match(isAlike)

  const steps = wanted.map((one, at): RuleStep => {
    const { fields, of, settings } = one
    const match = matches[at]
    const changes = changesOf(
      match === undefined ? {} : { ...match.settings, enabled: match.enabled },
      { ...settings, enabled: fields.enabled },
      compared(["threshold", "window_hours", "destinations"], fields)
    )
    const planned = step(titleOf(of), match?.before, changes, fields, [])
    const { destinations: _, ...payload } = planned.payload
    const alike = existing.filter((other) => isAlike(one, other)).length
    const notes =
      planned.action === "change" && alike > 1
        ? [`matched by order: ${alike} rules on the server have this condition and scope`]
        : []
    const isRouted = changes.some(({ field }) => field === "destinations")
    return {
      ...planned,
      notes,
      changes: changes.map((change) =>
        change.field === "destinations" ? withNames(change, match === undefined) : change
      ),
      payload: {
        ...payload,
        ...(match === undefined && of.webhook !== undefined && { webhook_id: of.webhook }),
        ...(isRouted && { destination_ids: settings.destinations ?? null })
      }
    }
  })
  const rest = existing.filter((one) => !matches.includes(one))
  const removals = others(rest, (one) => `${titleOf(one.of)} (${thresholdOf(one.before)})`, "alert rule")
  const all = [...steps, ...removals.map(({ before, ...step }): RuleStep => ({ ...step, before: before?.before }))]
  const left = unplanned(alerts.rules, all).map(limitsOfRule)
  faults.push(...exceeded(all.map(limitedRule), left, (at, _, detail) => wanted[at]!.fault([], detail)))
  return all
}

const pick = ({ enabled, of, settings }: Comparable) => ({ of, settings, enabled })
