/** Commands about requests: previews, runs that a key starts, and the latest requests of a webhook. */
import { Effect, Option, Predicate } from "effect"
import { Argument, Flag } from "effect/cli"
import { ofKept } from "../../domain/request/Payload.ts"
import type { ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { sampleFor as sampleRequestFor } from "../../recipes/SampleFor.ts"
import { type Connection, send } from "../Call.ts"
import { derived, remote } from "../Command.ts"
import { exitCodes, Failure, refused as refusal, usage } from "../Failure.ts"
import { isId, listText, print, printable, printJson, shortId } from "../Output.ts"
import { findWebhook, noWebhook } from "../References.ts"
import { sayHowToReply } from "../run/Outcome.ts"
import { textOfAnswer, wait } from "../run/Trigger.ts"
import { inputFlags, inputOf, isEmpty, type Sample, sampleFor, sampleOf } from "../run/TriggerInput.ts"

const webhook = Argument.String("webhook").pipe(Argument.withDescription("The webhook's id, or its name"))

export const refused = derived("refused", "webhooks.requests", {
  examples: [
    "webhook-trigger webhook refused review --json | jq -r '.data[] | select(.status == 422) | .detail'",
    "webhook-trigger webhook refused review --ignored"
  ],
  text: (list, { request: { query } }) => {
    const what = query.accepted ? "" : query.ignored ? "rejected or ignored " : "rejected "
    const text = listText<ReceivedRequest>(
      {
        ...{ TIME: "received_at", STATUS: "status", CODE: "code", REQUEST: ({ request_id }) => shortId(request_id) },
        ...{ DETAIL: "detail", MORE: ({ repeats }) => (repeats === 0 ? "" : `+${repeats}`) },
        ...{ FROM: "client_address", BYTES: "size" }
      },
      `No ${what}requests in the last 24 hours.`
    )(list)
    return list.ignored === 0 ? text : `${text}\nIgnored in the last 24 hours: ${list.ignored}`
  }
})

const isVariables = (value: unknown): value is Variables => Predicate.isReadonlyObject(value)

/** The input for a preview from a stored request. */
const sampleOfReceived = Effect.fnUntraced(function* ({ call }: Connection, { id, input }: Webhook, wanted: string) {
  const { data } = yield* call((client) => client.webhooks.requests({ params: { id }, query: { accepted: "true" } }))
  const request_id =
    wanted === "last"
      ? data.find(({ body }) => body !== undefined)?.request_id
      : (data.find(({ request_id }) => request_id.endsWith(wanted))?.request_id ?? wanted)
  if (request_id === undefined) {
    return yield* refusal(
      "The webhook has no stored requests in the last 24 hours",
      "to store requests: webhook-trigger webhook edit <webhook> --store-requests all"
    )
  }
  const request = yield* call(
    (client) => client.webhooks.request({ params: { id, request_id } }),
    `The webhook has no stored request ${request_id}`
  )
  const { headers = {}, query = {} } = request
  const payload = ofKept(request)
  if (input === "payload") return { payload, headers, query }
  const variables = Predicate.isReadonlyObject(payload) ? payload.variables : undefined
  return { variables: isVariables(variables) ? variables : {} }
})

export const preview = remote(
  "preview",
  {
    about: "Show the rendered prompt for variables or a request, without a run",
    details: "A webhook with input payload accepts --payload, with --header and --query. Others accept variables.",
    examples: [
      'webhook-trigger webhook preview review --var branch=main --json-var \'labels=["a","b"]\'',
      "webhook-trigger webhook preview push --payload @push.json --header 'X-GitHub-Event: push'",
      "webhook-trigger webhook preview push --received last"
    ]
  },
  {
    webhook,
    input: inputFlags,
    received: Flag.String("received").pipe(
      Flag.withMetavar("request|last"),
      Flag.withDescription("Use a stored request of the webhook as input; see webhook refused"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* (options, connection) {
    const input = yield* inputOf(options.input)
    if (Option.isSome(options.received) && !isEmpty(input)) {
      return yield* usage("use either --received or other input options, not both")
    }
    const found = yield* findWebhook(connection, options.webhook)
    const payload = Option.isSome(options.received)
      ? yield* sampleOfReceived(connection, found, options.received.value)
      : yield* Effect.fromResult(sampleFor(found, input))
    const { answer, json } = yield* send(connection, "webhooks.preview", { params: { id: found.id }, payload })
    if (answer.missing.length > 0) {
      const title = `Without a value: ${printable(answer.missing.join(", "))}`
      return yield* new Failure({ exit: exitCodes.refused, title, body: json })
    }
    if (connection.json) return yield* printJson(json)
    const because = answer.ignored_because === undefined ? "" : ` ${printable(answer.ignored_because)}`
    yield* print(
      answer.cancels
        ? "This input starts no run: it passes the filter for events that cancel runs (cancel_if)."
        : answer.accepted === false
          ? `Ignored: this input does not pass the filter (accept_if).${because}`
          : printable(answer.prompt ?? "")
    )
  })
)

const sampleInput = (webhook: Webhook): Sample => {
  const { body, headers, query } = sampleRequestFor(webhook)
  return webhook.input === "payload" ? { payload: body, headers, query } : (body as { variables: Variables })
}

export const runWebhook = remote(
  "run",
  {
    about: "Start a run of a webhook with your key, without its token",
    details:
      "A webhook with input payload accepts --payload, with --header and --query. Others accept variables. Signatures are not checked.",
    examples: [
      "webhook-trigger webhook run review --var branch=main --wait",
      "webhook-trigger webhook run 'Review pull requests' --sample"
    ]
  },
  {
    webhook,
    input: inputFlags,
    sample: Flag.Boolean("sample").pipe(
      Flag.withoutNegation,
      Flag.withDescription("Use the sample request of the webhook's service, or sample values"),
      Flag.withDefault(false)
    ),
    wait
  },
  Effect.fnUntraced(function* (options, connection) {
    const input = yield* inputOf(options.input)
    if (options.sample && !isEmpty(input)) {
      return yield* usage("use either --sample or other input options, not both")
    }
    // A key of the role `caller` cannot read webhooks, so a webhook given by its ID is not read.
    const found = isId(options.webhook) && !options.sample ? undefined : yield* findWebhook(connection, options.webhook)
    const made = found === undefined ? sampleOf(input) : sampleFor(found, input)
    const request = {
      params: { id: found?.id ?? options.webhook },
      query: { wait: options.wait },
      headers: {},
      payload: found && options.sample ? sampleInput(found) : yield* Effect.fromResult(made)
    }
    const { answer, json } = yield* send(connection, "overview.run", request, noWebhook(options.webhook))
    if (connection.json) return yield* printJson(json)
    yield* print(textOfAnswer(answer))
    if (answer.status === "success") yield* sayHowToReply(answer)
  })
)
