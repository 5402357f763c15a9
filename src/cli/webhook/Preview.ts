import { Command } from "@effect/cli"
import { Effect, Option } from "effect"
import { Preview } from "../../api/webhook/Webhooks.ts"
import { adminOptions, show } from "../Connection.ts"
import { exitCodes, Failure, usage } from "../Failure.ts"
import { about } from "../Help.ts"
import { printable } from "../Output.ts"
import { inputOf, inputOptions, sampleFor } from "../run/TriggerInput.ts"
import { received, sampleOfReceived } from "./ReceivedRequests.ts"
import { callOnWebhook, webhook } from "./WebhookRef.ts"

export const preview = Command.make("preview", { webhook, input: inputOptions, received, ...adminOptions }, (options) =>
  Effect.gen(function* () {
    const input = yield* inputOf(options.input)
    if (Option.isSome(options.received) && (input._tag === "Request" || Object.keys(input.variables).length > 0)) {
      return yield* usage("use either --received or other input options, not both")
    }
    const answer = yield* callOnWebhook(options, (client, webhook) =>
      Effect.gen(function* () {
        const payload = Option.isSome(options.received)
          ? yield* sampleOfReceived(client, webhook, options.received.value)
          : yield* sampleFor(webhook, input)
        return yield* client.webhooks.preview({ path: { id: webhook.id }, payload })
      })
    )
    if (answer.missing.length > 0) {
      const title = `Without a value: ${printable(answer.missing.join(", "))}`
      return yield* new Failure({ exit: exitCodes.refused, title, body: answer })
    }
    yield* show(options, Preview, answer, ({ accepted, ignored_because: because, prompt }) =>
      accepted === false
        ? `Ignored: this input does not pass the filter (accept_if).${because === undefined ? "" : ` ${printable(because)}`}`
        : printable(prompt ?? "")
    )
  })
).pipe(
  Command.withDescription(
    about("Show the rendered prompt for variables or a request, without a run", {
      details: "A webhook with input payload accepts --payload, with --header and --query. Others accept variables.",
      examples: [
        'webhook-trigger webhook preview review --var branch=main --json-var \'labels=["a","b"]\'',
        "webhook-trigger webhook preview push --payload @push.json --header 'X-GitHub-Event: push'",
        "webhook-trigger webhook preview push --received last"
      ]
    })
  )
)
