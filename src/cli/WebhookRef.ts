import { Args } from "@effect/cli"
import { Effect, Schema } from "effect"
import type { Client } from "../api/Client.ts"
import type { Webhook } from "../domain/Webhook.ts"
import { exitCodes, Failure } from "./Failure.ts"

/** A webhook on the command line: its id, or its name while only one has it. */
export const webhook = Args.text({ name: "webhook" }).pipe(Args.withDescription("The webhook's id, or its name"))

const isId = Schema.is(Schema.UUID)

/** Looks the webhook up by id, else by name. */
export const findWebhook = Effect.fn("Cli.findWebhook")(function* (client: Client, ref: string) {
  if (isId(ref)) return yield* client.webhooks.show({ path: { id: ref } })
  const named = (yield* client.webhooks.list()).filter((webhook) => webhook.name === ref)
  return named.length === 1 ? named[0]! : yield* notOne(ref, named)
})

const notOne = (ref: string, named: ReadonlyArray<Webhook>) =>
  new Failure({
    exit: exitCodes.refused,
    title: named.length === 0 ? "No such webhook" : "More than one webhook has this name",
    detail:
      named.length === 0
        ? `none is called ${JSON.stringify(ref)}; see webhook-trigger webhook list`
        : `say which by its id: ${named.map(({ id }) => id).join(", ")}`
  })
