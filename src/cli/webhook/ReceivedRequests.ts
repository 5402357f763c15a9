/** The latest requests of a webhook: rejected and stored ones. */
import { Effect, Option, Predicate, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import { RequestList } from "../../api/webhook/ReceivedRequests.ts"
import { ofKept } from "../../domain/request/Payload.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { adminOptions, show } from "../Connection.ts"
import { exitCodes, Failure } from "../Failure.ts"
import { about } from "../Help.ts"
import { ago, table } from "../Output.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

const ignored = Flag.Boolean("ignored").pipe(
  Flag.withDescription("Also ignored requests, such as those that did not pass the filter (accept_if)")
)

const accepted = Flag.Boolean("accepted").pipe(
  Flag.withDescription("Also ignored requests, and accepted ones if the webhook stores them (--store-requests all)")
)

const countText = (ignored: number): string => (ignored === 0 ? "" : `\nIgnored in the last 24 hours: ${ignored}`)

export const refused = Command.make("refused", { webhook, ignored, accepted, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const urlParams = {
      ...(options.ignored && { ignored: "true" as const }),
      ...(options.accepted && { accepted: "true" as const })
    }
    const what = options.accepted ? "" : options.ignored ? "rejected or ignored " : "rejected "
    const list = yield* callOnWebhook(options, (client, { id }) =>
      client.webhooks.requests({ path: { id }, urlParams })
    )
    yield* show(options, RequestList, list, ({ data, ignored }) => {
      const text =
        data.length === 0
          ? `No ${what}requests in the last 24 hours.`
          : table(
              ["REQUEST", "TIME", "STATUS", "CODE", "FROM", "BYTES", "MORE", "DETAIL"],
              data.map((one) => [
                ...[one.request_id, ago(one.received_at), one.status, one.code, one.client_address, one.size],
                one.repeats === 0 ? "" : `+${one.repeats}`,
                one.detail
              ])
            )
      return text + countText(ignored)
    })
  })
).pipe(
  Command.withDescription(
    about("List a webhook's rejected requests of the last 24 hours, newest first", {
      details: "With --json, also the beginnings of bodies, if the webhook stores requests (--store-requests).",
      examples: [
        "webhook-trigger webhook refused review --json | jq -r '.data[] | select(.status == 422) | .detail'",
        "webhook-trigger webhook refused review --ignored"
      ]
    })
  )
)

export const received = Flag.String("received").pipe(
  Flag.withMetavar("request|last"),
  Flag.withDescription("Use a stored request of the webhook as input; see webhook refused"),
  Flag.optional
)

const noneStored = new Failure({
  exit: exitCodes.refused,
  title: "The webhook has no stored requests in the last 24 hours",
  detail: "to store requests: webhook-trigger webhook edit <webhook> --store-requests all"
})

const isNotFound = Schema.is(Schema.Struct({ status: Schema.Literal(404) }))
const isVariables = (value: unknown): value is Variables => Predicate.isReadonlyObject(value)

/** The input for a preview from a stored request. */
export const sampleOfReceived = (client: Client, { id, input }: Webhook, wanted: string) =>
  Effect.gen(function* () {
    const last = Effect.flatMap(
      client.webhooks.requests({ path: { id }, urlParams: { accepted: "true" } }),
      ({ data }) => Option.fromNullishOr(data.find(({ body }) => body !== undefined)?.request_id)
    ).pipe(Effect.catchTag("NoSuchElementException", () => noneStored))
    const request_id = wanted === "last" ? yield* last : wanted
    // The webhook exists, so a 404 is about the request.
    const request = yield* Effect.catchIf(
      client.webhooks.request({ path: { id, request_id } }),
      isNotFound,
      () => new Failure({ exit: exitCodes.refused, title: `The webhook has no stored request ${request_id}` })
    )
    const { headers = {}, query = {} } = request
    const payload = ofKept(request)
    if (input === "payload") return { payload, headers, query }
    const variables = Predicate.isReadonlyObject(payload) ? payload.variables : undefined
    return { variables: isVariables(variables) ? variables : {} }
  })
