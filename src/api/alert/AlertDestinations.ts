/** Where alerts are sent, and what is sent there: as of a webhook's destinations. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { DeliveryAttempt, DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import { Destination, DestinationDraft, DestinationEdit } from "../../domain/delivery/Destination.ts"
import { time } from "../../domain/Time.ts"
import { Admin } from "../access/Auth.ts"
import { DeliveryPage, DestinationList, DestinationWithSecret, Resent } from "../delivery/Destinations.ts"
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

const destinationPath = Schema.Struct({
  destination_id: Schema.String.annotations({ description: "The destination's id." })
})
const deliveryPath = Schema.Struct({ delivery_id: Schema.String.annotations({ description: "The delivery's id." }) })

const destinations = "/api/alerts/destinations"
const deliveries = "/api/alerts/deliveries"

const described = (summary: string, description: string) => OpenApi.annotations({ summary, description })

export class AlertDestinations extends HttpApiGroup.make("alertDestinations")
  .add(
    HttpApiEndpoint.get("list", destinations)
      .addSuccess(DestinationList)
      .annotateContext(described("List the alert destinations", "Where alerts are sent."))
  )
  .add(
    HttpApiEndpoint.post("create", destinations)
      .setPayload(DestinationDraft)
      .addSuccess(DestinationWithSecret, { status: 201 })
      .addError(BadRequest)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        described("Add an alert destination", "The response contains the signing secret, which is shown only once.")
      )
  )
  .add(
    HttpApiEndpoint.post("check", `${destinations}/check`)
      .setPayload(DestinationDraft)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The alert destination is valid." }))
      .addError(BadRequest)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        described(
          "Check an alert destination",
          "Finds all faults that creating it would find, and stores nothing. Its token or secret URL may be absent."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("show", `${destinations}/:destination_id`)
      .setPath(destinationPath)
      .addSuccess(Destination)
      .addError(NotFound)
      .annotateContext(described("Show an alert destination", "One destination, without its secrets."))
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
          "Edit an alert destination",
          "Changes the given fields, also for deliveries that are pending. `enabled: false` switches it off; its pending deliveries fail. `headers` replaces all headers."
        )
      )
  )
  .add(
    HttpApiEndpoint.del("delete", `${destinations}/:destination_id`)
      .setPath(destinationPath)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The destination was deleted." }))
      .addError(NotFound)
      .annotateContext(described("Delete an alert destination", "Its deliveries are deleted, too."))
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
          "Replace the signing secret of an alert destination",
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
        described("Send a test alert", "Sends one event of type `test` now, and returns what came of it.")
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
        described(
          "Resend all failed deliveries of alerts",
          "Makes attempts again, under the same ids and by the whole schedule."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("deliveries", deliveries)
      .setUrlParams(
        Schema.Struct({
          destination_id: Schema.optional(Schema.String.annotations({ description: "Only of this destination." })),
          status: Schema.optional(DeliveryStatus.annotations({ description: "Only deliveries in this state." })),
          limit: Schema.optional(Limit),
          cursor: Schema.optional(Schema.String.annotations({ description: "`next_cursor` of the previous page." }))
        })
      )
      .addSuccess(DeliveryPage)
      .addError(BadRequest)
      .annotateContext(described("List the deliveries of alerts", "Newest first, with their attempts."))
  )
  .add(
    HttpApiEndpoint.get("delivery", `${deliveries}/:delivery_id`)
      .setPath(deliveryPath)
      .addSuccess(EventDelivery)
      .addError(NotFound)
      .annotateContext(described("Show a delivery of an alert", "One delivery, with its attempts."))
  )
  .add(
    HttpApiEndpoint.post("resend", `${deliveries}/:delivery_id/resend`)
      .setPath(deliveryPath)
      .addSuccess(EventDelivery)
      .addError(NotFound)
      .addError(UnprocessableContent)
      .annotateContext(
        described("Resend a delivery of an alert", "Makes attempts again, under the same id and by the whole schedule.")
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(
    OpenApi.annotations({
      title: "Alert destinations",
      description: "Where alerts are sent. They work like the destinations of webhooks."
    })
  ) {}
