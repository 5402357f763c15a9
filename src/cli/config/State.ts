/** What the server has, and which of it an entry of a file means. */
import { Effect, Either } from "effect"
import type { Client } from "../../api/Client.ts"
import type { Destination } from "../../domain/delivery/Destination.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import type { WantedWebhook } from "./Wanted.ts"
import type { WantedDestination } from "./WantedDestination.ts"

/** Enough to be quick, and few beside the server's other work. */
const concurrency = 8

export const destinationsOf = (client: Client, webhooks: ReadonlyArray<Webhook>) =>
  Effect.map(
    Effect.forEach(webhooks, ({ id }) => client.destinations.list({ path: { id } }), { concurrency }),
    (lists) => new Map(webhooks.map(({ id }, at): [string, ReadonlyArray<Destination>] => [id, lists[at]!.data]))
  )

export const alertsOf = (client: Client) =>
  Effect.gen(function* () {
    const { data: destinations } = yield* client.alertDestinations.list()
    const { data: rules } = yield* client.alerts.rules()
    return { destinations, rules }
  })

/** The key is limited to teams, but alerts belong to the whole server. */
export const isForbidden = (error: unknown): error is { readonly status: 403; readonly detail: string } =>
  typeof error === "object" && error !== null && "status" in error && error.status === 403

type Found<A> = Either.Either<A | undefined, Fault>

/** By its id, else by its name. */
export const webhookOf = (wanted: WantedWebhook, webhooks: ReadonlyArray<Webhook>): Found<Webhook> => {
  if (wanted.id !== undefined) {
    const found = webhooks.find(({ id }) => id === wanted.id)
    return found ? Either.right(found) : Either.left(wanted.fault("id", "is not a webhook on this server"))
  }
  const [first, ...others] = webhooks.filter(({ name }) => name === wanted.name)
  if (others.length === 0) return Either.right(first)
  const ids = [first!, ...others].map(({ id }) => id).join(", ")
  return Either.left(wanted.fault("name", `matches several webhooks; add the \`id\` of one: ${ids}`))
}

/** By its id, else by its description, else by where it goes. */
export const destinationOf = (
  wanted: WantedDestination,
  destinations: ReadonlyArray<Destination>
): Found<Destination> => {
  const { description, kind, target, url } = wanted.shown
  if (wanted.id !== undefined) {
    const found = destinations.find(({ id }) => id === wanted.id)
    return found
      ? Either.right(found)
      : Either.left(wanted.fault("id", "matches no destination in this list on the server"))
  }
  const [first, ...others] = destinations.filter((one) =>
    description !== undefined
      ? one.description === description
      : one.description === undefined &&
        one.kind === kind &&
        one.target === target &&
        (url === undefined || one.url === url)
  )
  if (others.length === 0) return Either.right(first)
  const ids = [first!, ...others].map(({ id }) => id).join(", ")
  return Either.left(
    wanted.fault("", `matches several destinations; add a \`description\`, or the \`id\` of one: ${ids}`)
  )
}
