/** A webhook's destinations, and what is sent to them. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DeliveryAttempt, DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import { Destination, DestinationDraft, DestinationEdit } from "../../domain/delivery/Destination.ts"
import { optional, time } from "../../domain/Time.ts"
import { Admin } from "../access/Auth.ts"
import { listFields } from "../List.ts"
import { Limit } from "../PageSize.ts"
import {
  BadRequest,
  ContentTooLarge,
  NotFound,
  ServiceUnavailable,
  UnprocessableContent,
  UnsupportedMediaType
} from "../Problem.ts"
import { secretOverlapSeconds } from "../webhook/Overlap.ts"
import { overlapSeconds } from "../webhook/Tokens.ts"
import { webhookPath } from "../webhook/WebhookPath.ts"

export const DestinationWithSecret = Schema.Struct({
  destination: Destination,
  secret: optional(
    Schema.String.annotations({
      description:
        "The secret that deliveries are signed with, as the Standard Webhooks specification has it. Only of the kind `webhook`."
    })
  )
}).annotations({
  identifier: "DestinationWithSecret",
  description: "A destination with its signing secret, if it has one. It is shown only once."
})

export const DestinationList = Schema.Struct(listFields(Destination, "Oldest first.")).annotations({
  identifier: "DestinationList",
  description: "Destinations, oldest first."
})

export const DeliveryPage = Schema.Struct(listFields(EventDelivery, "Newest first.")).annotations({
  identifier: "DeliveryPage",
  description: "A page of deliveries, newest first."
})

export const Resent = Schema.Struct({
  resent: Schema.Int.annotations({ description: "How many deliveries are sent again." })
}).annotations({ identifier: "Resent", description: "How many deliveries are sent again." })

const destinationPath = Schema.Struct({
  ...webhookPath.fields,
  destination_id: Schema.String.annotations({ description: "The destination's id." })
})
const deliveryPath = Schema.Struct({
  ...webhookPath.fields,
  delivery_id: Schema.String.annotations({ description: "The delivery's id." })
})

const destinations = "/api/webhooks/:id/destinations"
const deliveries = "/api/webhooks/:id/deliveries"

const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

export class Destinations extends HttpApiGroup.make("destinations")
  .add(
    HttpApiEndpoint.get("list", destinations)
      .setPath(webhookPath)
      .addSuccess(DestinationList)
      .addError(NotFound)
      .annotateContext(described("List the destinations", "Where the ends of the webhook's runs are sent."))
  )
  .add(
    HttpApiEndpoint.post("create", destinations)
      .setPath(webhookPath)
      .setPayload(DestinationDraft)
      .addSuccess(DestinationWithSecret, { status: 201 })
      .addError(BadRequest)
      .addError(NotFound)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        described("Add a destination", "The response contains the signing secret, which is shown only once.")
      )
  )
  .add(
    HttpApiEndpoint.get("show", `${destinations}/:destination_id`)
      .setPath(destinationPath)
      .addSuccess(Destination)
      .addError(NotFound)
      .annotateContext(described("Show a destination", "One destination, without its secrets."))
  )
  .add(
    HttpApiEndpoint.patch("edit", `${destinations}/:destination_id`)
      .setPath(destinationPath)
      .setPayload(DestinationEdit)
      .addSuccess(Destination)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        described(
          "Edit a destination",
          "Changes the given fields, also for deliveries that are pending. `enabled: false` switches it off; its pending deliveries fail. `headers` replaces all headers."
        )
      )
  )
  .add(
    HttpApiEndpoint.del("delete", `${destinations}/:destination_id`)
      .setPath(destinationPath)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The destination was deleted." }))
      .addError(NotFound)
      .annotateContext(described("Delete a destination", "Its deliveries are deleted, too."))
  )
  .add(
    HttpApiEndpoint.post("rotateSecret", `${destinations}/:destination_id/secret`)
      .setPath(destinationPath)
      .setUrlParams(Schema.Struct({ overlap_seconds: Schema.optional(overlapSeconds(secretOverlapSeconds)) }))
      .addSuccess(DestinationWithSecret)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(UnprocessableContent)
      .annotateContext(
        described(
          "Replace the signing secret",
          "Deliveries are signed with both secrets for `overlap_seconds`, by default a day. The response contains the new secret, which is shown only once."
        )
      )
  )
  .add(
    HttpApiEndpoint.post("test", `${destinations}/:destination_id/test`)
      .setPath(destinationPath)
      .addSuccess(DeliveryAttempt)
      .addError(NotFound)
      .annotateContext(
        described("Send a test event", "Sends one event of type `test` now, and returns what came of it.")
      )
  )
  .add(
    HttpApiEndpoint.post("resendFailed", `${destinations}/:destination_id/resend`)
      .setPath(destinationPath)
      .setUrlParams(Schema.Struct({ since: time("Only deliveries that failed at or after this time.") }))
      .addSuccess(Resent)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(UnprocessableContent)
      .annotateContext(
        described("Resend all failed deliveries", "Makes attempts again, under the same ids and by the whole schedule.")
      )
  )
  .add(
    HttpApiEndpoint.get("deliveries", deliveries)
      .setPath(webhookPath)
      .setUrlParams(
        Schema.Struct({
          destination_id: Schema.optional(Schema.String.annotations({ description: "Only of this destination." })),
          run_id: Schema.optional(Schema.String.annotations({ description: "Only of this run." })),
          status: Schema.optional(DeliveryStatus.annotations({ description: "Only deliveries in this state." })),
          limit: Schema.optional(Limit),
          cursor: Schema.optional(Schema.String.annotations({ description: "`next_cursor` of the previous page." }))
        })
      )
      .addSuccess(DeliveryPage)
      .addError(BadRequest)
      .addError(NotFound)
      .annotateContext(described("List the deliveries", "Newest first, with their attempts."))
  )
  .add(
    HttpApiEndpoint.get("delivery", `${deliveries}/:delivery_id`)
      .setPath(deliveryPath)
      .addSuccess(EventDelivery)
      .addError(NotFound)
      .annotateContext(described("Show a delivery", "One delivery, with its attempts."))
  )
  .add(
    HttpApiEndpoint.post("resend", `${deliveries}/:delivery_id/resend`)
      .setPath(deliveryPath)
      .addSuccess(EventDelivery)
      .addError(NotFound)
      .addError(UnprocessableContent)
      .annotateContext(
        described("Resend a delivery", "Makes attempts again, under the same id and by the whole schedule.")
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(
    OpenApi.annotations({
      title: "Destinations",
      description: "Where the ends of runs are sent: signed events, at least once, under one id."
    })
  ) {}
