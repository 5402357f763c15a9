/** A webhook's token. */
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import { BadRequest, NotFound } from "../Problem.ts"
import { maxOverlapSeconds } from "./Overlap.ts"
import { webhookPath } from "./WebhookPath.ts"

/** The webhook with its token: the only time it is shown. */
export const WebhookWithToken = Schema.Struct({
  webhook: Webhook,
  token: Schema.String.annotations({ description: "The secret. It is shown now, and never again." }),
  trigger_url: Schema.String.annotations({ description: "Where to POST; it contains the token." })
}).annotations({
  identifier: "WebhookWithToken",
  description: "The webhook with its token: the only time it is shown."
})

/** How long a replaced token may stay valid: up to 30 days. */
const OverlapSeconds = Schema.compose(Schema.String.pipe(Schema.pattern(/^\d+$/)), Schema.NumberFromString).pipe(
  Schema.between(0, maxOverlapSeconds),
  Schema.annotations({
    jsonSchema: {
      type: "integer",
      ...{ minimum: 0, maximum: maxOverlapSeconds, default: 0 },
      description: "For how many seconds the old token stays valid."
    }
  })
)

export const regenerateToken = HttpApiEndpoint.post("regenerate", "/api/webhooks/:id/token")
  .setPath(webhookPath)
  .setUrlParams(Schema.Struct({ overlap_seconds: Schema.optional(OverlapSeconds) }))
  .addSuccess(WebhookWithToken)
  .addError(BadRequest)
  .addError(NotFound)
  .annotateContext(
    OpenApi.annotations({
      summary: "Regenerate the token",
      description:
        "The old token stops working immediately or, with `overlap_seconds`, after that time. The response contains the new one, the only time it is shown."
    })
  )

export const endOldToken = HttpApiEndpoint.del("endOldToken", "/api/webhooks/:id/old-token")
  .setPath(webhookPath)
  .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The token before is no longer valid." }))
  .addError(NotFound)
  .annotateContext(
    OpenApi.annotations({
      summary: "End the old token",
      description: "A token that was left valid when it was regenerated stops working immediately."
    })
  )
