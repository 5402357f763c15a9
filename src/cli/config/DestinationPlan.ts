/** The changes of destinations: of one webhook, or of alerts. */
import type { Destination } from "../../domain/delivery/Destination.ts"
import { type DestinationKind, kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { Fault } from "../../domain/Errors.ts"
import { exceeded, limitedDestination, limitsOfDestination } from "./Limits.ts"
import { changesOf, compared, type Planning, step, unplanned } from "./Planning.ts"
import { type Fields, isKnown } from "./SecretReferences.ts"
import { headersPlan, noSecret, type SecretPlan, secretPlan } from "./Secrets.ts"
import { destinationOf } from "./State.ts"
import type { DestinationStep, PlanOptions } from "./Steps.ts"
import type { WantedDestination } from "./WantedDestination.ts"

const destinationFields = ["url", "target", "description", "events", "body", "template"]

interface NamedFields {
  readonly description?: unknown
  readonly kind?: unknown
  readonly target?: unknown
  readonly url?: unknown
}

/** For people: its description, or where it goes. */
export const nameOfDestination = ({ description, kind, target, url }: NamedFields): string =>
  description === undefined ? [kind, url, target].filter((part) => part !== undefined).join(" ") : String(description)

/** The fault of a step without the secret that the server asks for: of a new destination, and of a token for another URL. */
export const missingSecret = ({ action, changes, wanted }: DestinationStep): ReadonlyArray<Fault> => {
  if (wanted === undefined || wanted.secret !== undefined) return []
  const { fault, secretField, shown } = wanted
  const isToken = secretField === "token"
  if (isToken && kindOf(shown.kind as DestinationKind).token === undefined) return []
  const fields = `${secretField}_env or ${secretField}_file`
  if (action === "create") return [fault("", `requires ${fields}: the server has no such destination yet`)]
  const isMoved = isToken && changes.some(({ field }) => field === "url")
  return isMoved ? [fault("url", `is new, so the token must be entered again: add ${fields}`)] : []
}

const destinationStep = (
  wanted: WantedDestination,
  before: Destination | undefined,
  options: PlanOptions
): DestinationStep => {
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
  const planned = step(nameOfDestination(shown), before, changes, wanted.fields, [
    secret,
    token,
    headersPlan(wanted.headers, before, isMoved, options)
  ])
  return { ...planned, wanted }
}

/** `what`: the kind of object, for those that are not in the files. */
export const destinationSteps = (
  all: ReadonlyArray<WantedDestination>,
  existing: ReadonlyArray<Destination>,
  what: string,
  { faults, options, orFault, others }: Planning
): ReadonlyArray<DestinationStep> => {
  const matches = all.map((each) => ({ each, found: orFault(destinationOf(each, all, existing)) }))
  matches.forEach(({ each, found }, at) => {
    if (found === undefined) {
      const isSame = (one: WantedDestination) =>
        one.id === each.id && nameOfDestination(one.shown) === nameOfDestination(each.shown)
      if (all.slice(0, at).some(isSame)) faults.push(each.fault("", "is listed twice"))
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
  const steps: ReadonlyArray<DestinationStep> = [
    ...matches.map(({ each, found }) => destinationStep(each, found, options)),
    ...others(rest, nameOfDestination, what).map((step) => ({ ...step, wanted: undefined }))
  ]
  const left = unplanned(existing, steps).map(limitsOfDestination)
  faults.push(...exceeded(steps.map(limitedDestination), left, (at, ...fault) => all[at]!.fault(...fault)))
  return steps
}
