import { Schema } from "effect"
import { WebhookId } from "./Id.ts"
import { optional, time } from "./Time.ts"

/** How much of a body is kept, in bytes. */
export const keptBody = 2048

/** Of each webhook, as many of the newest requests are kept, and for as long. */
export const keptRequests = 100
export const keptFor = "24 hours"

/** A call of a webhook's trigger that was refused, or a number of them that are alike. */
export const ReceivedRequest = Schema.Struct({
  request_id: Schema.UUID.annotations({ description: "The request's id, a UUIDv7." }),
  webhook_id: WebhookId,
  received_at: time("When it arrived."),
  status: Schema.Int.annotations({ description: "The status of the response." }),
  code: Schema.String.annotations({ description: "The problem's `code`: why it was refused." }),
  detail: Schema.String.annotations({ description: "The problem's `detail`, of up to 300 characters." }),
  client_address: Schema.String.annotations({ description: "Where it came from." }),
  size: Schema.Int.annotations({
    description: "The size of its body in bytes, as announced or as far as it was received."
  }),
  body: optional(
    Schema.String.annotations({
      description: `The first ${keptBody} bytes of its body; only if the webhook keeps them. What is not UTF-8 is replaced.`
    })
  ),
  repeats: Schema.Int.annotations({
    description: "How many more were refused with the same code within the same second or two, and are not listed."
  })
}).annotations({ identifier: "ReceivedRequest", description: "A call of a webhook's trigger that was refused." })
export type ReceivedRequest = typeof ReceivedRequest.Type
