/** Everything is checked before anything is changed: here by the rules of the fields, then by the server. */
import { Effect, Result, Schema } from "effect"
import type { Client } from "../../api/Client.ts"
import { DestinationDraft } from "../../domain/delivery/Destination.ts"
import { Fault } from "../../domain/Errors.ts"
import { faultsOf } from "../../domain/SchemaFaults.ts"
import { WebhookDraft } from "../../domain/webhook/Webhook.ts"
import { missingSecret } from "./DestinationPlan.ts"
import { invalid } from "./ReadFiles.ts"
import { reference } from "./RulePlan.ts"
import { isKnown, type Secret } from "./SecretReferences.ts"
import type { Plan, Step } from "./Steps.ts"
import type { WantedWebhook } from "./Wanted.ts"
import type { Wanted, WantedDestination } from "./WantedDestination.ts"

const isRefused = Schema.is(Schema.Struct({ status: Schema.Literal(422), errors: Schema.Array(Fault) }))

const draftOf = ({ fields, secret }: WantedWebhook) => ({ ...fields, ...(isKnown(secret) && { secret: secret.value }) })

const draftOfDestination = ({ fields, headers, secret, secretField }: WantedDestination) => ({
  ...fields,
  ...(isKnown(secret) && { [secretField]: secret.value }),
  ...(headers && {
    headers: Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (isKnown(value) ? [[name, value.value]] : []))
    )
  })
})

/** The steps of a JSON Pointer; the names of fields need no unescaping. */
const stepsOf = (pointer: string): ReadonlyArray<string> => pointer.split("/").slice(1)

/** A fault of a draft, at its place in the file. */
const placed = (wanted: WantedWebhook, [part, ...path]: ReadonlyArray<string>, detail: string): Fault => {
  const destination = part === "destinations" ? wanted.destinations?.[Number(path[0])] : undefined
  return destination === undefined ? placedIn(wanted, path, detail) : placedIn(destination, path.slice(1), detail)
}

const placedIn = (owner: Wanted, [field = "", ...inner]: ReadonlyArray<string>, detail: string): Fault =>
  owner.fault(fileField(owner, field), [...inner, detail].join(" "))

/** The file has the secret under another name. */
const fileField = ({ secret }: { readonly secret: Secret | undefined }, field: string): string =>
  isKnown(secret) && ["secret", "token", "url"].includes(field) ? secret.field : field

const decodedAs = <A, I>(
  schema: Schema.Codec<A, I>,
  value: unknown,
  place: (path: ReadonlyArray<string>, detail: string) => Fault
) =>
  Result.mapError(Schema.decodeUnknownResult(schema, { errors: "all" })(value), ({ issue }) =>
    faultsOf(issue).map(({ detail, path }) => place(path.map(String), detail))
  )

/** Drafts, as the client sends them, or all faults. */
const decoded = (wanted: WantedWebhook) => {
  const decode = <A, I>(schema: Schema.Codec<A, I>, value: unknown, ...path: ReadonlyArray<string>) =>
    decodedAs(schema, value, (inner, detail) => placed(wanted, [...path, ...inner], detail))
  const webhook = decode(WebhookDraft, draftOf(wanted), "webhook")
  const destinations = (wanted.destinations ?? []).map((each, at) =>
    decode(DestinationDraft, draftOfDestination(each), "destinations", String(at))
  )
  const all: ReadonlyArray<Result.Result<unknown, ReadonlyArray<Fault>>> = [webhook, ...destinations]
  const faults = all.flatMap((result) => (Result.isFailure(result) ? result.failure : []))
  return faults.length > 0
    ? Result.fail(faults)
    : Result.succeed({
        webhook: Result.getOrThrow(webhook),
        destinations: destinations.map((each) => Result.getOrThrow(each))
      })
}

const isSent = ({ action }: Step<unknown>): boolean => action === "create" || action === "change"

/** The faults that the server finds, each at its place. */
const faultsFrom = <E, R>(request: Effect.Effect<unknown, E, R>, place: (fault: Fault) => ReadonlyArray<Fault>) =>
  request.pipe(
    Effect.as<ReadonlyArray<Fault>>([]),
    Effect.catch((error) => (isRefused(error) ? Effect.succeed(error.errors.flatMap(place)) : Effect.fail(error)))
  )

/** Fails with all faults of objects that would be changed. Alert rules have no faults that only the server finds. */
export const check = Effect.fn("Cli.checkConfig")(function* (
  client: Client,
  { alertDestinations, teams, webhooks }: Plan
) {
  const newTeams = teams.filter(({ action }) => action === "create").map(({ name }) => name)
  const editedWebhooks = webhooks
    .filter(isSent)
    .map(({ before, name, wanted }) => reference({ kind: "webhook", name, id: before?.id, fileId: wanted?.id }))
  const ofWebhooks = yield* Effect.forEach(webhooks, (step) =>
    Effect.gen(function* () {
      const { wanted } = step
      if (wanted === undefined || ![step, ...step.destinations].some(isSent)) return []
      const payload = decoded(wanted)
      if (Result.isFailure(payload)) return payload.failure
      // The server does not know teams and webhooks of the same files yet, or not as they will be.
      const isNewTeam = ({ pointer }: Fault) =>
        pointer === "/webhook/team" && newTeams.includes(String(wanted.fields.team))
      const { shares } = wanted.fields
      const isNewUrl = ({ pointer }: Fault) => pointer === "/webhook/shares" && editedWebhooks.includes(String(shares))
      // What stays as it is may be beyond what this key may set, such as a chain to another team or its URL.
      const isOfSent = ([part, at]: ReadonlyArray<string>) => {
        if (part === "webhook" && at === "shares" && shares === step.before?.shares) return false
        const given = part === "destinations" ? wanted.destinations?.[Number(at)] : undefined
        return isSent((given && step.destinations.find((one) => one.wanted === given)) ?? step)
      }
      const found = yield* faultsFrom(client.webhooks.check({ payload: payload.success }), (fault) => {
        const steps = stepsOf(fault.pointer)
        return isNewTeam(fault) || isNewUrl(fault) || !isOfSent(steps) ? [] : [placed(wanted, steps, fault.detail)]
      })
      return [...found, ...step.destinations.flatMap(missingSecret)]
    })
  )
  const ofAlertDestinations = yield* Effect.forEach(alertDestinations, (step) =>
    Effect.gen(function* () {
      const { wanted } = step
      if (wanted === undefined || !isSent(step)) return []
      const payload = decodedAs(DestinationDraft, draftOfDestination(wanted), (path, detail) =>
        placedIn(wanted, path, detail)
      )
      if (Result.isFailure(payload)) return payload.failure
      const found = yield* faultsFrom(client.alerts.checkDestination({ payload: payload.success }), (fault) => [
        placedIn(wanted, stepsOf(fault.pointer), fault.detail)
      ])
      return [...found, ...missingSecret(step)]
    })
  )
  const faults = [...ofWebhooks, ...ofAlertDestinations].flat()
  if (faults.length > 0) return yield* invalid(faults)
})
