import { Args } from "@effect/cli"
import { Effect, Option } from "effect"
import type { Connection } from "../Connection.ts"
import { callOnWebhook, webhook as webhookArgument } from "../webhook/WebhookRef.ts"

export const webhook = Args.optional(webhookArgument)

/** The id of the given webhook, if any. */
export const idOf = (options: Connection & { readonly webhook: Option.Option<string> }) =>
  Option.isSome(options.webhook)
    ? callOnWebhook({ ...options, webhook: options.webhook.value }, (_, { id }) => Effect.succeed(id))
    : Effect.succeed(undefined)
