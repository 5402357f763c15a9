/** `webhook run`: starts a run with a key instead of the webhook's token. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { Client } from "../../api/Client.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { sampleFor as sampleRequestFor } from "../../recipes/SampleFor.ts"
import { adminOptions, call } from "../Connection.ts"
import { usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { failUnsuccessful, wait } from "../run/Outcome.ts"
import { showAnswer } from "../run/Trigger.ts"
import { inputOf, inputOptions, sampleFor, sampleOf, type TriggerInput } from "../run/TriggerInput.ts"
import { findWebhook, isId, webhook, webhookNotFound } from "./WebhookRef.ts"

const sample = Flag.Boolean("sample").pipe(
  Flag.withDescription("Use the sample request of the webhook's service, or sample values")
)

const sampleInput = (webhook: Webhook) => {
  const { body, headers, query } = sampleRequestFor(webhook)
  return webhook.input === "payload" ? { payload: body, headers, query } : (body as { variables: Variables })
}

/** A key of the role `caller` cannot read webhooks, so a webhook given by its ID is not read. */
const requestFor = Effect.fnUntraced(function* (client: Client, ref: string, input: TriggerInput | "sample") {
  if (isId(ref) && input !== "sample") return { path: { id: ref }, payload: yield* sampleOf(input) }
  const webhook = yield* findWebhook(client, ref)
  const payload = input === "sample" ? sampleInput(webhook) : yield* sampleFor(webhook, input)
  return { path: { id: webhook.id }, payload }
})

export const runWebhook = Command.make(
  "run",
  { webhook, input: inputOptions, sample, wait, ...adminOptions },
  (options) =>
    Effect.gen(function* () {
      const input = yield* inputOf(options.input)
      if (options.sample && (input._tag === "Request" || Object.keys(input.variables).length > 0)) {
        return yield* usage("use either --sample or other input options, not both")
      }
      const answer = yield* call(
        options,
        (client) =>
          Effect.flatMap(requestFor(client, options.webhook, options.sample ? "sample" : input), (request) =>
            client.overview.run({ ...request, urlParams: { wait: options.wait }, headers: {} })
          ).pipe(Effect.catch(failUnsuccessful)),
        webhookNotFound(options.webhook)
      )
      yield* showAnswer(options, answer)
    })
).pipe(
  Command.withDescription(
    about("Start a run of a webhook with your key, without its token", {
      details:
        "A webhook with input payload accepts --payload, with --header and --query. Others accept variables. Signatures are not checked.",
      examples: [
        "webhook-trigger webhook run review --var branch=main --wait",
        "webhook-trigger webhook run 'Review pull requests' --sample"
      ]
    })
  )
)
