/** What the server has, and which of it an entry of a file means. */
import { Effect, Result } from "effect"
import type { Client } from "../../api/Client.ts"
import type { Destination } from "../../domain/delivery/Destination.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import type { Fields } from "./SecretReferences.ts"
import type { WantedWebhook } from "./Wanted.ts"
import type { Wanted, WantedDestination } from "./WantedDestination.ts"

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

type Found<A> = Result.Result<A | undefined, Fault>

/**
 * By its ID. An export of another server has IDs that this one does not know, of objects that share a name. The first entry
 * with such an ID is then the oldest of those that share the name here, the second one the next, and so on.
 */
const byId = <W extends Wanted, A extends { readonly id: string }>(
  wanted: W,
  entries: ReadonlyArray<W>,
  existing: ReadonlyArray<A>,
  sharesName: { readonly entry: (one: W) => boolean; readonly object: (one: A) => boolean }
): A | undefined => {
  const found = existing.find(({ id }) => id === wanted.id)
  if (found !== undefined) return found
  const isUnknown = ({ id }: W) => id !== undefined && existing.every((one) => one.id !== id)
  const place = entries.filter((one) => isUnknown(one) && sharesName.entry(one)).indexOf(wanted)
  return existing.filter((one) => sharesName.object(one) && entries.every(({ id }) => id !== one.id))[place]
}

/** By its id, else by its name. */
export const webhookOf = (
  wanted: WantedWebhook,
  entries: ReadonlyArray<WantedWebhook>,
  webhooks: ReadonlyArray<Webhook>
): Found<Webhook> => {
  if (wanted.id !== undefined) {
    const isNamed = ({ name }: { readonly name: string }) => name === wanted.name
    const oldestFirst = webhooks.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    return Result.succeed(byId(wanted, entries, oldestFirst, { entry: isNamed, object: isNamed }))
  }
  const [first, ...others] = webhooks.filter(({ name }) => name === wanted.name)
  if (others.length === 0) return Result.succeed(first)
  const ids = [first!, ...others].map(({ id }) => id).join(", ")
  return Result.fail(wanted.fault("name", `matches several webhooks; add the \`id\` of one: ${ids}`))
}

/** By its id, else by its description, else by where it goes. */
export const destinationOf = (
  wanted: WantedDestination,
  entries: ReadonlyArray<WantedDestination>,
  destinations: ReadonlyArray<Destination>
): Found<Destination> => {
  const { description, kind, target, url } = wanted.shown
  const isNamed = (one: Fields) =>
    description !== undefined
      ? one.description === description
      : one.description === undefined &&
        one.kind === kind &&
        one.target === target &&
        (url === undefined || one.url === url)
  if (wanted.id !== undefined) {
    return Result.succeed(
      byId(wanted, entries, destinations, {
        entry: ({ shown }) => isNamed(shown),
        object: (one) => isNamed({ ...one })
      })
    )
  }
  const [first, ...others] = destinations.filter((one) => isNamed({ ...one }))
  if (others.length === 0) return Result.succeed(first)
  const ids = [first!, ...others].map(({ id }) => id).join(", ")
  return Result.fail(
    wanted.fault("", `matches several destinations; add a \`description\`, or the \`id\` of one: ${ids}`)
  )
}
