/** The last requests of a webhook: what was refused, and what it has kept. */
import { Command, Options } from "@effect/cli"
import { Effect, Option, Predicate, Schema } from "effect"
import type { Client } from "../../api/Client.ts"
import { RequestList } from "../../api/webhook/ReceivedRequests.ts"
import { ofKept } from "../../domain/request/Payload.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { adminOptions, show } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { table, time } from "../Output.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

const accepted = Options.boolean("accepted").pipe(
  Options.withDescription("Also those that were accepted or ignored, if the webhook keeps them (--keep-bodies all)")
)

export const refused = Command.make("refused", { webhook, accepted, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const urlParams = options.accepted ? ({ accepted: "true" } as const) : {}
    const list = yield* callOnWebhook(options, (client, { id }) =>
      client.webhooks.requests({ path: { id }, urlParams })
    )
    yield* show(options, RequestList, list, ({ data }) =>
      data.length === 0
        ? `Nothing was ${options.accepted ? "refused or kept" : "refused"} in the last day.`
        : table(
            ["REQUEST", "TIME", "STATUS", "CODE", "FROM", "BYTES", "MORE", "DETAIL"],
            data.map((one) => [
              ...[one.request_id, time(one.received_at), one.status, one.code, one.client_address, one.size],
              one.repeats === 0 ? "" : `+${one.repeats}`,
              one.detail
            ])
          )
    )
  })
).pipe(
  Command.withDescription(
    about("List what a webhook has refused in the last day, newest first", {
      details: "With --json, the beginnings of bodies too, if the webhook keeps them (--keep-bodies).",
      examples: ["webhook-trigger webhook refused review --json | jq -r '.data[] | select(.status == 422) | .detail'"]
    })
  )
)

export const received = Options.text("received").pipe(
  Options.withPseudoName("request|last"),
  Options.withDescription("A request that the webhook has kept, in place of one that is given; see webhook refused"),
  Options.optional
)

const noneKept = new Failure({
  exit: exitCodes.refused,
  title: "The webhook has kept no request in the last day",
  detail: "webhook-trigger webhook edit <webhook> --keep-bodies all"
})

const isNotFound = Schema.is(Schema.Struct({ status: Schema.Literal(404) }))
const isVariables = (value: unknown): value is Variables => Predicate.isReadonlyRecord(value)

/** What a preview makes of a kept request. */
export const sampleOfReceived = (client: Client, { id, input }: Webhook, wanted: string) =>
  Effect.gen(function* () {
    const last = Effect.flatMap(
      client.webhooks.requests({ path: { id }, urlParams: { accepted: "true" } }),
      ({ data }) => Option.fromNullable(data.find(({ body }) => body !== undefined)?.request_id)
    ).pipe(Effect.catchTag("NoSuchElementException", () => noneKept))
    const request_id = wanted === "last" ? yield* last : wanted
    // The webhook itself was found before.
    const request = yield* Effect.catchIf(
      client.webhooks.request({ path: { id, request_id } }),
      isNotFound,
      () => new Failure({ exit: exitCodes.refused, title: `The webhook keeps no request ${request_id}` })
    )
    const { headers = {}, query = {} } = request
    const payload = ofKept(request)
    if (input === "payload") return { payload, headers, query }
    const variables = Predicate.isReadonlyRecord(payload) ? payload.variables : undefined
    return { variables: isVariables(variables) ? variables : {} }
  })
