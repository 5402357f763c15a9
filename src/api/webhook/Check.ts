import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DestinationDraft, maxDestinations } from "../../domain/delivery/Destination.ts"
import { optional } from "../../domain/Time.ts"
import { WebhookDraft } from "../../domain/webhook/Webhook.ts"
import { BadRequest, ContentTooLarge, UnprocessableContent, UnsupportedMediaType } from "../Problem.ts"

export const WebhookCheck = Schema.Struct({
  webhook: WebhookDraft,
  destinations: optional(Schema.Array(DestinationDraft).pipe(Schema.maxItems(maxDestinations)))
}).annotations({ identifier: "WebhookCheck", description: "A webhook and its destinations, which are only checked." })

export const checkWebhook = HttpApiEndpoint.post("check", "/api/check")
  .setPayload(WebhookCheck)
  .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The webhook and its destinations are valid." }))
  .addError(BadRequest)
  .addError(ContentTooLarge)
  .addError(UnsupportedMediaType)
  .addError(UnprocessableContent)
  .annotateContext(
    OpenApi.annotations({
      summary: "Check a webhook and its destinations",
      description:
        "Finds all faults that creating them would find, and stores nothing. Secrets, tokens and secret URLs may be absent."
    })
  )
