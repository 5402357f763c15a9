/** A server's objects as a configuration file without secrets. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import type { Document, YAMLMap } from "yaml"
import type { Client } from "../../api/Client.ts"
import type { AlertRule } from "../../domain/alert/AlertRule.ts"
import type { Destination } from "../../domain/delivery/Destination.ts"
import { alertEvents, type DestinationEvent, runEndEvents } from "../../domain/delivery/DestinationEvent.ts"
import { kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Team } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { webhookSettingNames } from "../../domain/webhook/WebhookSettings.ts"
import type { AlertRuleEntry, ConfigFile, DestinationEntry, WebhookEntry } from "./ConfigFile.ts"
import { yaml } from "./YamlFile.ts"

interface Alerts {
  readonly destinations: ReadonlyArray<Destination>
  readonly rules: ReadonlyArray<AlertRule>
}

interface State {
  readonly teams: ReadonlyArray<Team>
  readonly webhooks: ReadonlyArray<Webhook>
  /** By the webhook's id. */
  readonly destinations: ReadonlyMap<string, ReadonlyArray<Destination>>
  /** Absent: they are not exported. */
  readonly alerts: Alerts | undefined
}

/** Enough to be quick, and few beside the server's other work. */
const concurrency = 8

export const destinationsOf = (client: Client, webhooks: ReadonlyArray<Webhook>) =>
  Effect.map(
    Effect.forEach(webhooks, ({ id }) => client.destinations.list({ params: { id } }), { concurrency }),
    (lists) => new Map(webhooks.map(({ id }, at): [string, ReadonlyArray<Destination>] => [id, lists[at]!.data]))
  )

/** `otherwise`: the key is limited to teams, but alerts belong to the whole server. */
export const alertsOr = <A, E, R>(client: Client, otherwise: (detail: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { data: destinations } = yield* client.alertDestinations.list({ params: {} })
    const { data: rules } = yield* client.alerts.rules()
    return { destinations, rules }
  }).pipe(Effect.catchTag("Forbidden", ({ detail }) => otherwise(detail)))

const given = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** Several have it. */
const isShared = <A>(all: ReadonlyArray<A>, one: A, keyOf: (one: A) => unknown): boolean =>
  all.some((other) => other !== one && isDeepStrictEqual(keyOf(other), keyOf(one)))

const keyOfDestination = ({ description, kind, target, url }: Destination) =>
  description === undefined ? { kind, target, url } : { description }

const destinationEntry = (
  one: Destination,
  all: ReadonlyArray<Destination>,
  events: ReadonlyArray<DestinationEvent>
): DestinationEntry => {
  const { sends, url } = kindOf(one.kind)
  const isDefaultUrl = url === undefined || url.isSecret || one.url === url.default
  return given({
    id: isShared(all, one, keyOfDestination) ? one.id : undefined,
    description: one.description,
    kind: one.kind === "webhook" ? undefined : one.kind,
    url: isDefaultUrl ? undefined : one.url,
    target: one.target,
    events: isDeepStrictEqual(one.events, events) ? undefined : one.events,
    body: one.body === (sends === "event" ? "thin" : "full") ? undefined : one.body,
    template: one.template,
    enabled: one.enabled ? undefined : false
  })
}

const webhookEntry = (one: Webhook, { destinations, webhooks }: State): WebhookEntry => {
  const all = destinations.get(one.id) ?? []
  return given({
    id: isShared(webhooks, one, ({ name }) => name) ? one.id : undefined,
    name: one.name,
    team: one.team,
    enabled: one.enabled ? undefined : false,
    ...Object.fromEntries(webhookSettingNames.map((name) => [name, one[name]])),
    shares: one.shares && (referenceTo(webhooks, one.shares, ({ name }) => name)[0] ?? one.shares),
    verification: one.verification,
    prompt_template: one.prompt_template,
    destinations: all.length === 0 ? undefined : all.map((each) => destinationEntry(each, all, runEndEvents))
  }) as unknown as WebhookEntry
}

/** Refers to a webhook or destination by its name, or by its ID if it shares the name or has none. */
const referenceTo = <A extends { readonly id: string }>(
  all: ReadonlyArray<A>,
  id: string,
  nameOf: (one: A) => string | undefined
): ReadonlyArray<string> => {
  const found = all.find((one) => one.id === id)
  if (found === undefined) return []
  return [isShared(all, found, nameOf) ? id : (nameOf(found) ?? id)]
}

const ruleEntry = (
  one: AlertRule,
  destinations: ReadonlyArray<Destination>,
  webhooks: ReadonlyArray<Webhook>
): AlertRuleEntry =>
  given({
    condition: one.condition,
    webhook: one.webhook_id && referenceTo(webhooks, one.webhook_id, ({ name }) => name)[0],
    team: one.team,
    threshold: one.threshold,
    window_hours: one.window_hours,
    destinations: one.destination_ids?.flatMap((id) => referenceTo(destinations, id, ({ description }) => description)),
    enabled: one.enabled ? undefined : false
  }) as unknown as AlertRuleEntry

const unique = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.filter((one, at) => !all.slice(0, at).some((other) => isDeepStrictEqual(other, one)))

const alertEntries = ({ destinations, rules }: Alerts, webhooks: ReadonlyArray<Webhook>) => ({
  alert_destinations: destinations.map((each) => destinationEntry(each, destinations, alertEvents)),
  // Two rules with the same settings are equivalent.
  alert_rules: unique(rules.map((each) => ruleEntry(each, destinations, webhooks)))
})

/** `webhooks`: of these only. */
export const toConfig = (state: State, webhooks: ReadonlyArray<Webhook> = state.webhooks): ConfigFile => ({
  teams: state.teams
    .filter(({ team }) => webhooks === state.webhooks || webhooks.some((one) => one.team === team))
    .map(({ team }) => ({ team })),
  webhooks: webhooks.map((one) => webhookEntry(one, state)),
  ...(state.alerts && alertEntries(state.alerts, state.webhooks))
})

/** The secrets that exist, and how a file refers to them. */
const secretsOf = (one: Webhook): ReadonlyArray<string> =>
  one.secret_hint === undefined ? [] : [`secret_env: …    # set, not exported: ${one.secret_hint}`]

const secretsOfDestination = ({ header_names, kind, secret_hint }: Destination): ReadonlyArray<string> => {
  const { token, url } = kindOf(kind)
  return [
    ...(url?.isSecret ? [`url_env: …    # set, not exported: ${secret_hint}`] : []),
    ...(token ? [`token_env: …    # set, not exported: ${secret_hint}`] : []),
    ...(header_names.length > 0 ? [`headers_env: {…}    # set, not exported: ${header_names.join(", ")}`] : [])
  ]
}

const comment = (document: Document, path: ReadonlyArray<string | number>, lines: ReadonlyArray<string>) => {
  const map = document.getIn(path, true) as YAMLMap
  if (lines.length > 0) map.comment = lines.map((line) => ` ${line}`).join("\n")
}

/** YAML reads a block of such lines as another text. Quoted, each of its characters is escaped. */
const isChangedAsBlock = (text: string): boolean => text.includes("\n") && (/\r/.test(text) || /^\s/.test(text))

/** With a comment for each secret that the server has. */
export const toYaml = (state: State, webhooks: ReadonlyArray<Webhook>) =>
  Effect.map(yaml, ({ Document, visit }) => {
    const document = new Document(toConfig(state, webhooks))
    visit(document, {
      Scalar: (_, scalar) => {
        if (typeof scalar.value === "string" && isChangedAsBlock(scalar.value)) scalar.type = "QUOTE_DOUBLE"
      }
    })
    webhooks.forEach((one, at) => {
      comment(document, ["webhooks", at], secretsOf(one))
      const destinations = state.destinations.get(one.id) ?? []
      destinations.forEach((each, place) =>
        comment(document, ["webhooks", at, "destinations", place], secretsOfDestination(each))
      )
    })
    state.alerts?.destinations.forEach((each, at) =>
      comment(document, ["alert_destinations", at], secretsOfDestination(each))
    )
    document.commentBefore = " The configuration of a Webhook Trigger server, without secrets."
    // Long lines stay whole: folding would make changes hard to read.
    return document.toString({ lineWidth: 0 })
  })
