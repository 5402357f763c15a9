import { Effect, Schema } from "effect"
import { Argument } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { type Connection, call } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"

/** A webhook's id, or its name if it is unique. */
export const webhook = Argument.String({ name: "webhook" }).pipe(Argument.withDescription("The webhook's id, or its name"))

export const isId = Schema.is(Schema.String.check(Schema.isUUID()))

export const webhookNotFound = (ref: string) =>
  `No webhook has the id or name ${JSON.stringify(ref)}; see webhook-trigger webhook list`

/** Finds the webhook by id or name. */
export const findWebhook = Effect.fn("Cli.findWebhook")(function* (client: Client, ref: string) {
  if (isId(ref)) return yield* client.webhooks.show({ path: { id: ref } })
  const named = (yield* client.webhooks.list()).data.filter((webhook) => webhook.name === ref)
  return named.length === 1 ? named[0]! : yield* notUnique(ref, named)
})

const notUnique = (ref: string, named: ReadonlyArray<Webhook>) =>
  named.length === 0
    ? new Failure({ exit: exitCodes.refused, title: webhookNotFound(ref) })
    : new Failure({
        exit: exitCodes.refused,
        title: "More than one webhook has this name",
        detail: `use its id: ${named.map(({ id }) => id).join(", ")}`
      })

/** The fields of a webhook, with the ID of the webhook whose URL it shares. */
export const withShared = <Fields extends { readonly shares?: string | null }>(client: Client, fields: Fields) =>
  typeof fields.shares === "string"
    ? Effect.map(findWebhook(client, fields.shares), ({ id }): Fields => ({ ...fields, shares: id }))
    : Effect.succeed(fields)

/** Calls the server with the given webhook. */
export const callOnWebhook = <A, E, R>(
  options: Connection & { readonly webhook: string },
  request: (client: Client, webhook: Webhook) => Effect.Effect<A, E, R>
) =>
  call(
    options,
    (client) => Effect.flatMap(findWebhook(client, options.webhook), (found) => request(client, found)),
    webhookNotFound(options.webhook)
  )
