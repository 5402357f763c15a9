/** A webhook's token. */
import { Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { optional } from "../../domain/Time.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import { described, noContent } from "../Endpoint.ts"
import { wholeNumber } from "../PageSize.ts"
import { BadRequest, Conflict, NotFound } from "../Problem.ts"
import { maxOverlapSeconds } from "./Overlap.ts"
import { webhookPath } from "./WebhookPath.ts"

/** A webhook with its token, which is shown only once. */
export const WebhookWithToken = Schema.Struct({
  webhook: Webhook,
  token: optional(
    Schema.String.annotate({
      description: "The secret token. It is shown only once. Absent: the webhook shares another one's URL."
    })
  ),
  trigger_url: optional(
    Schema.String.annotate({ description: "The URL for triggers, with the token. Absent like that." })
  )
}).annotate({
  identifier: "WebhookWithToken",
  description: "A webhook with its token, which is shown only once."
})

/** @param seconds the default */
export const overlapSeconds = (seconds: number) =>
  wholeNumber({
    ...{ minimum: 0, maximum: maxOverlapSeconds, default: seconds },
    description: "How long the one before stays valid, in seconds."
  })

export const regenerateToken = HttpApiEndpoint.post("regenerate", "/api/webhooks/:id/token", {
  params: webhookPath,
  query: Schema.Struct({ overlap_seconds: Schema.optional(overlapSeconds(0)) }),
  success: WebhookWithToken,
  error: [BadRequest, NotFound, Conflict]
}).annotateMerge(
  described(
    "Regenerate the token",
    "The old token stops working immediately or, with `overlap_seconds`, after that time. The response contains the new token, which is shown only once. A webhook that shares another one's URL has none (409)."
  )
)

export const endOldToken = HttpApiEndpoint.delete("endOldToken", "/api/webhooks/:id/old-token", {
  params: webhookPath,
  success: noContent("The old token is no longer valid."),
  error: NotFound
}).annotateMerge(
  described("End the old token", "The old token, which is still valid after regeneration, stops working immediately.")
)
