import { Schema } from "effect"
import { AlertId, DeliveryId, DestinationId, RunId, WebhookId } from "../Id.ts"
import { Int } from "../SchemaParts.ts"
import { optional, time } from "../Time.ts"
import { DestinationEventName } from "./Destination.ts"

export const DeliveryStatus = Schema.Literals(["pending", "delivered", "failed"]).annotate({
  identifier: "DeliveryStatus",
  description: "`pending`: attempts are due. `failed`: none is, and the last one failed."
})
export type DeliveryStatus = typeof DeliveryStatus.Type

/** The number of bytes stored of a destination's answer. */
export const storedAnswer = 4_096

export const DeliveryAttempt = Schema.Struct({
  at: time("When it began."),
  duration_ms: Int.annotate({ description: "How long it took." }),
  http_status: optional(
    Int.annotate({
      description: "The status of the answer, of `email` the mail server's reply code; absent: there was none."
    })
  ),
  error: optional(Schema.String.annotate({ description: "Why it failed; absent: it succeeded." })),
  answer: optional(Schema.String.annotate({ description: `The first ${storedAnswer} bytes of the answer, as text.` })),
  started_run: optional(RunId.annotate({ description: "Of `chain`: the run that it started." }))
}).annotate({ identifier: "DeliveryAttempt", description: "One request to a destination." })
export type DeliveryAttempt = typeof DeliveryAttempt.Type

export const EventDelivery = Schema.Struct({
  id: DeliveryId,
  destination_id: DestinationId,
  webhook_id: optional(WebhookId.annotate({ description: "Absent: it is about an alert." })),
  run_id: optional(RunId.annotate({ description: "The run that ended; absent: it is about an alert." })),
  alert_id: optional(AlertId.annotate({ description: "The alert; absent: it is about a run." })),
  event: DestinationEventName,
  status: DeliveryStatus,
  created_at: time("When the run ended, or the alert began or was resolved."),
  next_attempt_at: optional(time("When the next attempt is due; absent: none is.")),
  finished_at: optional(time("When it was delivered or given up.")),
  attempts: Schema.Array(DeliveryAttempt).annotate({ description: "The attempts, oldest first." })
}).annotate({
  identifier: "Delivery",
  description: "An event that is sent to a destination, at least once and always under the same id."
})
export type EventDelivery = typeof EventDelivery.Type
