/** Teams, webhooks and alert rules in a configuration. */
import { isDeepStrictEqual } from "node:util"
import { DateTime, Effect, Result } from "effect"
import { conditionOf } from "../../domain/alert/AlertCondition.ts"
import { type AlertRule, faultsOfRule, maxRules, thresholdOf } from "../../domain/alert/AlertRule.ts"
import { type ConfigDestination, ConfigRule, ConfigTeam, ConfigWebhook } from "../../domain/Configuration.ts"
import type { Destination } from "../../domain/delivery/Destination.ts"
import { EditConflict, type Fault, Invalid } from "../../domain/Errors.ts"
import type { TeamName, TeamRecord } from "../../domain/Team.ts"
import { decode } from "../../domain/Validation.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { webhookSettingNames } from "../../domain/webhook/WebhookSettings.ts"
import { TeamStore } from "../../repo/manage/TeamStore.ts"
import * as Audit from "../access/Audit.ts"
import { Alerts } from "../alert/Alerts.ts"
import { Webhooks, type WithToken } from "../manage/Webhooks.ts"
import { secretChange } from "./DestinationLists.ts"
import { byName, type Fields, omitted, type Refusal, type Resource, type Run } from "./Resource.ts"
import type { Targets } from "./Targets.ts"

type Team = typeof ConfigTeam.Type
export type WebhookTargets = Targets<ConfigWebhook, Webhook>
type DestinationTargets = Targets<ConfigDestination, Destination>

const fieldsOf = <A extends object>(all: ReadonlyArray<A>) => all as ReadonlyArray<Fields & A>

/** The objects of the actor's teams; all if the actor is not limited to teams. */
const ofActor = <A extends { readonly team: TeamName }>(all: ReadonlyArray<A>) =>
  Effect.map(Audit.Origin, ({ teams }) => fieldsOf(all.filter(({ team }) => teams?.includes(team) !== false)))

export const teams = Effect.map(
  TeamStore,
  (store): Resource<Team, Fields & TeamRecord> => ({
    ...{ kind: "team", key: "/team", decode: decode(ConfigTeam), fields: [] },
    stored: Effect.flatMap(store.teams, ofActor),
    match: (entries, stored) => entries.map(({ team }) => Result.succeed(stored.find((one) => one.team === team))),
    identity: ({ team }) => team,
    nameOf: ({ team }) => team,
    nameOfStored: ({ team }) => team,
    wanted: (entry) => ({ draft: entry, shown: {} }),
    create: ({ team }) =>
      Effect.gen(function* () {
        yield* store.createTeam(team as TeamName, yield* DateTime.now, yield* Audit.draft("team.created"))
        return undefined
      }).pipe(Effect.catchTag("TeamExists", () => new EditConflict({ version: 0 }))),
    edit: () => Effect.void
  })
)

export const webhooks = Effect.map(
  Webhooks,
  (webhooks) =>
    (
      { options: { dryRun, resetSecrets } }: Run,
      targets: WebhookTargets,
      keep: (created: WithToken) => void,
      inside: Resource<ConfigWebhook, Fields & Webhook>["inside"] & {}
    ): Resource<ConfigWebhook, Fields & Webhook> => ({
      ...{ kind: "webhook", key: "/name", decode: decode(ConfigWebhook), inside },
      stored: Effect.flatMap(webhooks.list, ofActor),
      match: (entries, stored) => {
        const found = byName<ConfigWebhook, Fields & Webhook>((entry, { name }) => entry.name === name)(entries, stored)
        targets.matched(stored, entries, found.map(Result.getOrUndefined))
        return found
      },
      identity: ({ id, name }) => id ?? ` ${name}`,
      nameOf: ({ name }) => name,
      nameOfStored: ({ name }) => name,
      fields: ["name", "team", ...webhookSettingNames, "verification", "prompt_template"],
      wanted: (entry, before, fault) => {
        const draft = omitted(entry, "id", "secret", "destinations")
        const { shares } = entry
        // A key that is limited to teams may not know the webhook whose URL is shared already.
        if (shares === undefined || (shares === before?.shares && targets.nameOf(shares) === undefined)) {
          return { draft, shown: draft }
        }
        const found = targets.find(shares)
        if (Result.isFailure(found)) fault("/shares", found.failure)
        const shown = omitted({ ...draft, shares: Result.getOrUndefined(found) })
        return { draft: shown, shown }
      },
      secrets: ({ secret }, before) => {
        const change = secretChange("secret", secret, before?.secret_hint, resetSecrets)
        // Without its secret, the rest is checked as if callers were not verified.
        const isUnknown = secret === null && dryRun && before?.secret_hint === undefined
        return isUnknown ? { ...change, payload: { verification: undefined } } : change
      },
      note: ({ id }, before) =>
        id !== undefined && before === undefined ? `its id is not on this server: ${id}` : undefined,
      display: ({ field, from, to }) => {
        const named = (id: unknown) => (field === "shares" ? (targets.nameOf(id) ?? id) : id)
        return { field, ...(from !== undefined && { from: named(from) }), ...(to !== undefined && { to: named(to) }) }
      },
      // A webhook that shares another one's URL comes after that.
      isFirst: ({ shares }) => shares === undefined,
      create: (draft) =>
        Effect.map(webhooks.create(draft), (created) => {
          keep(created)
          return created.webhook.id
        }),
      created: (entry, id) => targets.add(entry, { id, fileId: entry.id }),
      edit: ({ id, version }, change) => webhooks.edit(id, change, [version])
    })
)

/** A rule, comparable with others: what it covers, and its settings. */
interface Comparable {
  readonly of: { readonly condition: string; readonly team: string | undefined; readonly webhook: string | undefined }
  readonly settings: {
    readonly threshold: number
    readonly window_hours: number | undefined
    readonly destinations: ReadonlyArray<string> | undefined
  }
  readonly enabled: boolean
}

const isSame =
  (...parts: ReadonlyArray<keyof Comparable>) =>
  (one: Comparable, other: Comparable): boolean =>
    parts.every((part) => isDeepStrictEqual(one[part], other[part]))
const isAlike = isSame("of")
/** Rules have no names: they are matched by equal settings first, then by order. */
const passes = [isSame("of", "settings", "enabled"), isSame("of", "settings"), isAlike]

const sorted = (ids: ReadonlyArray<string> | undefined) => ids && [...new Set(ids)].sort()

type WantedRule = ConfigRule & { readonly comparable: Comparable }

/** In the words of the configuration. */
const inConfiguration = ({ detail, pointer }: Fault): Fault => ({
  pointer: pointer.replace(/^\/webhook_id/, "/webhook").replace(/^\/destination_ids/, "/destinations"),
  detail
})

const decodeRule = decode(ConfigRule)

export const rules = Effect.map(
  Alerts,
  (alerts) =>
    (
      webhooks: WebhookTargets,
      destinations: DestinationTargets,
      teams: ReadonlyArray<Fields & TeamRecord>
    ): Resource<WantedRule, Fields & AlertRule> => {
      const storedOf = ({
        condition,
        destination_ids,
        enabled,
        team,
        threshold,
        webhook_id,
        window_hours
      }: AlertRule) => ({
        of: { condition, team, webhook: webhook_id },
        // Destinations that were deleted stay in the list.
        settings: {
          ...{ threshold, window_hours },
          destinations: sorted(destination_ids?.filter((id) => destinations.nameOf(id) !== undefined))
        },
        enabled
      })
      const titleOf = ({ condition, team, webhook }: Comparable["of"]): string =>
        webhook !== undefined
          ? `${condition} of the webhook ${webhooks.nameOf(webhook)}`
          : team !== undefined
            ? `${condition} of the team ${team}`
            : condition
      /** The names of destinations; absent: all. */
      const namesOf = (ids: unknown) =>
        (ids as ReadonlyArray<string> | undefined)?.map((id) => destinations.nameOf(id) ?? id).sort() ?? "all"
      const asStored = ({ destinations, webhook, ...fields }: Fields): Fields => ({
        ...fields,
        ...(webhook !== undefined && { webhook_id: webhook }),
        ...(destinations !== undefined && { destination_ids: destinations })
      })
      const inWords = <A>(effect: Effect.Effect<A, Refusal>) =>
        Effect.catchTag(effect, "Invalid", ({ faults }) => new Invalid({ faults: faults.map(inConfiguration) }))

      const resolved = (entry: ConfigRule): Result.Result<WantedRule, ReadonlyArray<Fault>> => {
        const { condition, enabled = true, team, threshold, webhook, window_hours } = entry
        const data = conditionOf(condition)
        const faults: Array<Fault> = faultsOfRule(condition, {
          ...entry,
          ...(webhook !== undefined && { webhook_id: webhook })
        }).map(({ detail, field }) => inConfiguration({ pointer: `/${field}`, detail }))
        if (faults.length > 0) return Result.fail(faults)
        const find = (targets: WebhookTargets | DestinationTargets, text: string, pointer: string): string => {
          const found = targets.find(text)
          if (Result.isFailure(found)) faults.push({ pointer, detail: found.failure })
          return Result.getOrUndefined(found) ?? ""
        }
        if (team !== undefined && !teams.some((one) => one.team === team)) {
          faults.push({ pointer: "/team", detail: "does not exist" })
        }
        const of = { condition, team, webhook: webhook && find(webhooks, webhook, "/webhook") }
        const ids = entry.destinations?.map((text, at) => find(destinations, text, `/destinations/${at}`))
        const settings = {
          threshold: threshold ?? data.threshold.default,
          window_hours: window_hours ?? data.hours,
          destinations: sorted(ids)
        }
        // The objects that it refers to may have faults of their own.
        const isWhole = of.webhook !== "" && ids?.includes("") !== true
        return faults.length > 0 || !isWhole
          ? Result.fail(faults)
          : Result.succeed({ ...entry, comparable: { of, settings, enabled } })
      }

      return {
        ...{ kind: "alert_rule", key: "", most: maxRules },
        decode: (entry) => Result.flatMap(decodeRule(entry), resolved),
        stored: Effect.map(alerts.rules, fieldsOf),
        match: (entries, stored) => {
          const matches: Array<(Fields & AlertRule) | undefined> = entries.map(() => undefined)
          for (const isMatch of passes) {
            entries.forEach(({ comparable }, at) => {
              matches[at] ??= stored.find((one) => !matches.includes(one) && isMatch(comparable, storedOf(one)))
            })
          }
          return matches.map(Result.succeed)
        },
        identity: ({ comparable }) => JSON.stringify(comparable),
        nameOf: ({ comparable }) => titleOf(comparable.of),
        nameOfStored: (one) => `${titleOf(storedOf(one).of)} (${thresholdOf(one)})`,
        fields: ["threshold", "window_hours", "destinations"],
        shown: (one) => ({ ...storedOf(one).settings, enabled: one.enabled }),
        wanted: ({ comparable: { of, settings }, enabled, ...entry }) => ({
          draft: omitted({ ...entry, enabled, webhook: of.webhook, destinations: settings.destinations }, "comparable"),
          shown: { ...settings, enabled }
        }),
        note: ({ comparable }, _, stored, isChanged) => {
          const alike = stored.filter((one) => isAlike(comparable, storedOf(one))).length
          return isChanged && alike > 1
            ? `matched by order: ${alike} rules on the server have this condition and scope`
            : undefined
        },
        display: (change, isNew) =>
          change.field === "destinations"
            ? { field: change.field, ...(!isNew && { from: namesOf(change.from) }), to: namesOf(change.to) }
            : change,
        create: (draft) => inWords(Effect.map(alerts.createRule(asStored(draft)), ({ id }) => id)),
        edit: ({ id }, change) => inWords(alerts.editRule(id, asStored(change))),
        remove: ({ id }) => alerts.removeRule(id)
      }
    }
)
