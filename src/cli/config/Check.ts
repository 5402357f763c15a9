/** Everything is checked before anything is changed: here by the rules of the fields, then by the server. */
import { Effect, Either, Schema } from "effect"
import type { Client } from "../../api/Client.ts"
import { faultsOf } from "../../domain/Accepted.ts"
import { DestinationDraft } from "../../domain/delivery/Destination.ts"
import { Fault } from "../../domain/Errors.ts"
import { WebhookDraft } from "../../domain/webhook/Webhook.ts"
import { invalid } from "./ReadFiles.ts"
import type { Plan, WebhookStep } from "./Steps.ts"
import { isKnown, type Secret, type WantedDestination, type WantedWebhook } from "./Wanted.ts"

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
  const [owner, [field = "", ...inner]] =
    part === "destinations"
      ? ([wanted.destinations?.[Number(path[0])] ?? wanted, path.slice(1)] as const)
      : ([wanted, path] as const)
  return owner.fault(fileField(owner, field), [...inner, detail].join(" "))
}

/** The file has the secret under another name. */
const fileField = ({ secret }: { readonly secret: Secret | undefined }, field: string): string =>
  isKnown(secret) && ["secret", "token", "url"].includes(field) ? secret.field : field

/** Drafts, as the client sends them, or all faults. */
const decoded = (wanted: WantedWebhook) => {
  const decode = <A, I>(schema: Schema.Schema<A, I>, value: unknown, ...path: ReadonlyArray<string>) =>
    Either.mapLeft(Schema.decodeUnknownEither(schema, { errors: "all" })(value), ({ issue }) =>
      faultsOf(issue).map((fault) => placed(wanted, [...path, ...fault.path.map(String)], fault.detail))
    )
  const webhook = decode(WebhookDraft, draftOf(wanted), "webhook")
  const destinations = (wanted.destinations ?? []).map((each, at) =>
    decode(DestinationDraft, draftOfDestination(each), "destinations", String(at))
  )
  const all: ReadonlyArray<Either.Either<unknown, ReadonlyArray<Fault>>> = [webhook, ...destinations]
  const faults = all.flatMap((result) => (Either.isLeft(result) ? result.left : []))
  return faults.length > 0
    ? Either.left(faults)
    : Either.right({
        webhook: Either.getOrThrow(webhook),
        destinations: destinations.map((each) => Either.getOrThrow(each))
      })
}

const isChanged = ({ action, destinations }: WebhookStep): boolean =>
  [action, ...destinations.map(({ action }) => action)].some((action) => action === "create" || action === "change")

/** Fails with all faults of all webhooks that would be changed. */
export const check = Effect.fn("Cli.checkConfig")(function* (client: Client, { teams, webhooks }: Plan) {
  const newTeams = teams.filter(({ action }) => action === "create").map(({ name }) => name)
  const faults = yield* Effect.forEach(webhooks, (step) =>
    Effect.gen(function* () {
      const { wanted } = step
      if (wanted === undefined || !isChanged(step)) return []
      const payload = decoded(wanted)
      if (Either.isLeft(payload)) return payload.left
      const faults = yield* client.webhooks.check({ payload: payload.right }).pipe(
        Effect.as<ReadonlyArray<Fault>>([]),
        Effect.catchAll((error) => (isRefused(error) ? Effect.succeed(error.errors) : Effect.fail(error)))
      )
      // The server does not know teams of the same files yet.
      const isNewTeam = ({ pointer }: Fault) =>
        pointer === "/webhook/team" && newTeams.includes(String(wanted.fields.team))
      return faults
        .filter((fault) => !isNewTeam(fault))
        .map(({ detail, pointer }) => placed(wanted, stepsOf(pointer), detail))
    })
  )
  if (faults.flat().length > 0) return yield* invalid(faults.flat())
})
