import { Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { DestinationDraft, maxDestinations } from "../../domain/delivery/Destination.ts"
import { optional } from "../../domain/Time.ts"
import { WebhookDraft } from "../../domain/webhook/Webhook.ts"
import { described, noContent } from "../Endpoint.ts"
import { bodyFaults } from "../Problem.ts"

const WebhookCheck = Schema.Struct({
  webhook: WebhookDraft,
  destinations: optional(
    Schema.Array(DestinationDraft)
      .check(Schema.isMaxLength(maxDestinations))
      .annotate({ description: "Its destinations." })
  )
}).annotate({ identifier: "WebhookCheck", description: "A webhook and its destinations, which are only checked." })

export const checkWebhook = HttpApiEndpoint.post("check", "/api/check", {
  payload: WebhookCheck,
  success: noContent("The webhook and its destinations are valid."),
  error: bodyFaults
}).annotateMerge(
  described(
    "Check a webhook and its destinations",
    "Finds all faults that creating them would find, and stores nothing. Secrets, tokens and secret URLs may be absent."
  )
)
