/** The changes that make a server what the files ask for. */
import { isDeepStrictEqual } from "node:util"
import { Either } from "effect"
import type { Destination } from "../../domain/delivery/Destination.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { webhookSettingNames } from "../../domain/webhook/WebhookSettings.ts"
import { headersPlan, noSecret, type SecretPlan, secretPlan } from "./Secrets.ts"
import { destinationOf, webhookOf } from "./State.ts"
import type { Change, DestinationStep, Plan, PlanOptions, State, Step, WebhookStep } from "./Steps.ts"
import { type Configuration, type Fields, isKnown, type WantedDestination, type WantedWebhook } from "./Wanted.ts"

const webhookFields = ["name", "team", ...webhookSettingNames, "verification", "prompt_template"]
const destinationFields = ["url", "target", "description", "events", "body", "template"]

/** `enabled` is compared only if a file has it: a webhook that was switched off in an emergency stays off. */
const compared = (fields: ReadonlyArray<string>, wanted: Fields) =>
  wanted.enabled === undefined ? fields : [...fields, "enabled"]

const changesOf = (before: Fields, wanted: Fields, fields: ReadonlyArray<string>): ReadonlyArray<Change> =>
  fields
    .filter((field) => !isDeepStrictEqual(before[field], wanted[field]))
    .map((field) => ({
      field,
      ...(before[field] !== undefined && { from: before[field] }),
      ...(wanted[field] !== undefined && { to: wanted[field] })
    }))

/** `null` gives a field its default. */
const editOf = (changes: ReadonlyArray<Change>): Fields =>
  Object.fromEntries(changes.map(({ field, to = null }) => [field, to]))

const step = <Before>(
  name: string,
  before: Before | undefined,
  changes: ReadonlyArray<Change>,
  draft: Fields,
  secrets: ReadonlyArray<SecretPlan>
): Step<Before> => {
  const all = [...changes, ...secrets.flatMap(({ changes }) => changes)]
  const action = before === undefined ? "create" : all.length > 0 ? "change" : "keep"
  return {
    action,
    name,
    before,
    changes: all,
    notes: secrets.flatMap(({ notes }) => notes),
    payload: Object.assign(
      {},
      before === undefined ? draft : editOf(changes),
      ...secrets.map(({ payload }) => payload)
    ) as Fields
  }
}

const removal = <Before>(name: string, before: Before): Step<Before> => ({
  action: "delete",
  name,
  before,
  changes: [],
  notes: [],
  payload: {}
})

/** For people: its description, or where it goes. */
const nameOfDestination = ({ description, kind, target, url }: Fields): string =>
  description === undefined ? [kind, url, target].filter((part) => part !== undefined).join(" ") : String(description)

const destinationStep = (wanted: WantedDestination, before: Destination | undefined, options: PlanOptions) => {
  const { secretField, shown } = wanted
  const hasSecretUrl = secretField === "url"
  const secret = secretPlan(secretField, wanted.secret, before?.secret_hint, options)
  // The URL with a key is compared as a secret.
  const fields = compared(destinationFields, wanted.fields).filter((field) => !(field === "url" && hasSecretUrl))
  const changes = changesOf((before ?? {}) as Fields, shown, fields)
  // With another URL, the server asks for the token and the headers again.
  const isMoved = before !== undefined && changes.some(({ field }) => field === "url")
  const token: SecretPlan =
    isMoved && !hasSecretUrl && isKnown(wanted.secret)
      ? { ...noSecret, payload: { token: wanted.secret.value } }
      : noSecret
  return step(nameOfDestination(shown), before, changes, wanted.fields, [
    secret,
    token,
    headersPlan(wanted.headers, before, isMoved, options)
  ])
}

/** The steps, what is left alone, and the faults of entries that match nothing or several. */
export const plan = (
  configuration: Configuration,
  state: State,
  options: PlanOptions
): Either.Either<Plan, ReadonlyArray<Fault>> => {
  const faults: Array<Fault> = []
  const left: Array<string> = []
  const orFault = <A>(found: Either.Either<A | undefined, Fault>): A | undefined => {
    if (Either.isLeft(found)) faults.push(found.left)
    return Either.getOrUndefined(found)
  }
  /** Of what the files do not have: deleted, or left alone. */
  const others = <A>(all: ReadonlyArray<A>, nameOf: (one: A) => string, what: string): ReadonlyArray<Step<A>> => {
    if (!options.prune) left.push(...all.map((one) => `${what} ${nameOf(one)}`))
    return options.prune ? all.map((one) => removal(nameOf(one), one)) : []
  }

  const destinationSteps = (wanted: WantedWebhook, before: Webhook | undefined): ReadonlyArray<DestinationStep> => {
    if (wanted.destinations === undefined) return []
    const existing = before === undefined ? [] : (state.destinations.get(before.id) ?? [])
    const matches = wanted.destinations.map((each) => ({ each, found: orFault(destinationOf(each, existing)) }))
    matches.forEach(({ each, found }, at) => {
      if (found === undefined) {
        const names = matches.slice(0, at).map(({ each }) => nameOfDestination(each.shown))
        if (names.includes(nameOfDestination(each.shown))) faults.push(each.fault("", "is listed twice"))
        return
      }
      if (matches.slice(0, at).some((other) => other.found === found)) faults.push(each.fault("", "is listed twice"))
      // A secret URL is not in the file; destinations with one have no headers.
      const isMoved = found.kind === each.shown.kind && each.secretField !== "url" && found.url !== each.shown.url
      if (isMoved && found.header_names.length > 0 && each.headers === undefined) {
        faults.push(each.fault("url", `is new, so the headers must be entered again: add headers_env`))
      }
      if (found.kind !== each.shown.kind) faults.push(each.fault("kind", `cannot be changed; it is ${found.kind}`))
    })
    const rest = existing.filter((one) => !matches.some(({ found }) => found === one))
    return [
      ...matches.map(({ each, found }) => destinationStep(each, found, options)),
      ...others(rest, (one) => nameOfDestination(one as unknown as Fields), `destination of ${wanted.name}:`)
    ]
  }

  const webhooks = (configuration.webhooks ?? []).map((wanted): WebhookStep => {
    const before = orFault(webhookOf(wanted, state.webhooks))
    const hasVerification = wanted.fields.verification !== undefined
    if (hasVerification && before?.secret_hint === undefined && wanted.secret === undefined) {
      faults.push(wanted.fault("verification", "requires secret_env or secret_file: the server has no secret for it"))
    }
    const secret = secretPlan("secret", wanted.secret, before?.secret_hint, options)
    const changes = changesOf((before ?? {}) as Fields, wanted.fields, compared(webhookFields, wanted.fields))
    return {
      ...step(wanted.name, before, changes, wanted.fields, [secret]),
      wanted,
      destinations: destinationSteps(wanted, before)
    }
  })
  const kept = webhooks.flatMap(({ before }) => before?.id ?? [])
  const otherWebhooks =
    configuration.webhooks === undefined
      ? []
      : others(
          state.webhooks.filter(({ id }) => !kept.includes(id)),
          ({ name }) => name,
          "webhook"
        )
  const users = new Set<unknown>([
    ...webhooks.map(({ wanted }) => wanted?.fields.team),
    ...(configuration.webhooks === undefined ? state.webhooks.map(({ team }) => team) : [])
  ])
  const isThere = (name: string) => state.teams.find(({ team }) => team === name)
  const teams = [
    ...(configuration.teams ?? []).map((team) => step(team, isThere(team), [], { team }, [])),
    ...(configuration.teams === undefined
      ? []
      : others(
          state.teams.filter(({ team }) => !configuration.teams!.includes(team) && !users.has(team)),
          ({ team }) => team,
          "team"
        ))
  ]
  if (faults.length > 0) return Either.left(faults)
  return Either.right({
    teams,
    webhooks: [
      ...webhooks,
      ...otherWebhooks.map((step): WebhookStep => ({ ...step, wanted: undefined, destinations: [] }))
    ],
    left
  })
}
