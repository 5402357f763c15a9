/** Destinations of webhooks and of alerts, and what is sent to them: the same endpoints at two places. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { DeliveryAttempt, DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import { Destination, DestinationDraft, DestinationEdit } from "../../domain/delivery/Destination.ts"
import { Int } from "../../domain/SchemaParts.ts"
import { optional, time } from "../../domain/Time.ts"
import { Admin } from "../access/Auth.ts"
import { described } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { Limit } from "../PageSize.ts"
import { BadRequest, ContentTooLarge, NotFound, UnprocessableContent, UnsupportedMediaType } from "../Problem.ts"
import { secretOverlapSeconds } from "../webhook/Overlap.ts"
import { overlapSeconds } from "../webhook/Tokens.ts"
import { webhookPath } from "../webhook/WebhookPath.ts"

export const DestinationWithSecret = Schema.Struct({
  destination: Destination,
  secret: optional(
    Schema.String.annotate({
      description:
        "The secret that deliveries are signed with, as the Standard Webhooks specification has it. Only of the kind `webhook`."
    })
  )
}).annotate({
  identifier: "DestinationWithSecret",
  description: "A destination with its signing secret, if it has one. It is shown only once."
})

const DestinationList = Schema.Struct(listFields(Destination, "Oldest first.")).annotate({
  identifier: "DestinationList",
  description: "Destinations, oldest first."
})

const DeliveryPage = Schema.Struct(listFields(EventDelivery, "Newest first.")).annotate({
  identifier: "DeliveryPage",
  description: "A page of deliveries, newest first."
})

const Resent = Schema.Struct({
  resent: Int.annotate({ description: "How many deliveries are sent again." })
}).annotate({ identifier: "Resent", description: "How many deliveries are sent again." })

/** Alert destinations belong to no webhook, so their paths have no `id`. */
type OwnerFields = { readonly id: Schema.optional<typeof Schema.String> }

const ofRun = { run_id: Schema.optional(Schema.String.annotate({ description: "Only of this run." })) }

/** The differences between the two: where they are, and how they are described. */
interface Place<Name extends string> {
  readonly name: Name
  readonly title: string
  readonly about: string
  readonly base: "/api/webhooks/:id" | "/api/alerts"
  readonly owner: Schema.Struct.Fields
  /** The name for a destination, with its article. */
  readonly one: string
  /** The contents of the list. */
  readonly listed: string
  /** Ends the summaries about deliveries. */
  readonly ofAlerts: "" | " of alerts"
  /** The webhook may be missing. */
  readonly missing: readonly [typeof NotFound] | readonly []
}

const make = <const Name extends string>({
  about,
  base,
  listed,
  missing,
  name,
  ofAlerts,
  one,
  owner,
  title
}: Place<Name>) => {
  const fields = owner as unknown as OwnerFields
  const ownerNotFound = missing as readonly [typeof NotFound]
  const ownerPath = Schema.Struct(fields)
  const destinationPath = Schema.Struct({
    ...fields,
    destination_id: Schema.String.annotate({ description: "The destination's id." })
  })
  const deliveryPath = Schema.Struct({
    ...fields,
    delivery_id: Schema.String.annotate({ description: "The delivery's id." })
  })
  const destinations = `${base}/destinations` as const
  const deliveries = `${base}/deliveries` as const
  return HttpApiGroup.make(name)
    .add(
      HttpApiEndpoint.get("list", destinations, {
        params: ownerPath,
        success: DestinationList,
        error: ownerNotFound
      }).annotateMerge(described(`List the ${one.replace(/^an? /, "")}s`, listed))
    )
    .add(
      HttpApiEndpoint.post("create", destinations, {
        params: ownerPath,
        payload: DestinationDraft,
        success: DestinationWithSecret.pipe(HttpApiSchema.status(201)),
        error: [BadRequest, ...ownerNotFound, ContentTooLarge, UnsupportedMediaType, UnprocessableContent]
      }).annotateMerge(described(`Add ${one}`, "The response contains the signing secret, which is shown only once."))
    )
    .add(
      HttpApiEndpoint.get("show", `${destinations}/:destination_id`, {
        params: destinationPath,
        success: Destination,
        error: NotFound
      }).annotateMerge(described(`Show ${one}`, "One destination, without its secrets."))
    )
    .add(
      HttpApiEndpoint.patch("edit", `${destinations}/:destination_id`, {
        params: destinationPath,
        payload: DestinationEdit,
        success: Destination,
        error: [BadRequest, NotFound, ContentTooLarge, UnsupportedMediaType, UnprocessableContent]
      }).annotateMerge(
        described(
          `Edit ${one}`,
          "Changes the given fields, also for deliveries that are pending. `enabled: false` switches it off; its pending deliveries fail. `headers` replaces all headers."
        )
      )
    )
    .add(
      HttpApiEndpoint.delete("delete", `${destinations}/:destination_id`, {
        params: destinationPath,
        success: HttpApiSchema.NoContent.annotate({ description: "The destination was deleted." }),
        error: NotFound
      }).annotateMerge(described(`Delete ${one}`, "Its deliveries are deleted, too."))
    )
    .add(
      HttpApiEndpoint.post("rotateSecret", `${destinations}/:destination_id/secret`, {
        params: destinationPath,
        query: Schema.Struct({ overlap_seconds: Schema.optional(overlapSeconds(secretOverlapSeconds)) }),
        success: DestinationWithSecret,
        error: [BadRequest, NotFound, UnprocessableContent]
      }).annotateMerge(
        described(
          `Replace the signing secret${ofAlerts && ` of ${one}`}`,
          "Deliveries are signed with both secrets for `overlap_seconds`, by default a day. The response contains the new secret, which is shown only once."
        )
      )
    )
    .add(
      HttpApiEndpoint.post("test", `${destinations}/:destination_id/test`, {
        params: destinationPath,
        success: DeliveryAttempt,
        error: NotFound
      }).annotateMerge(
        described(
          ofAlerts ? "Send a test alert" : "Send a test event",
          "Sends one event of type `test` now, and returns what came of it."
        )
      )
    )
    .add(
      HttpApiEndpoint.post("resendFailed", `${destinations}/:destination_id/resend`, {
        params: destinationPath,
        query: Schema.Struct({ since: time("Only deliveries that failed at or after this time.") }),
        success: Resent,
        error: [BadRequest, NotFound, UnprocessableContent]
      }).annotateMerge(
        described(
          `Resend all failed deliveries${ofAlerts}`,
          "Makes attempts again, under the same ids and by the whole schedule."
        )
      )
    )
    .add(
      HttpApiEndpoint.get("deliveries", deliveries, {
        params: ownerPath,
        query: Schema.Struct({
          destination_id: Schema.optional(Schema.String.annotate({ description: "Only of this destination." })),
          ...(ofAlerts ? ({} as typeof ofRun) : ofRun),
          status: Schema.optional(
            DeliveryStatus.annotate({ identifier: undefined, description: "Only deliveries in this state." })
          ),
          limit: Schema.optional(Limit),
          cursor: Schema.optional(Schema.String.annotate({ description: "`next_cursor` of the previous page." }))
        }),
        success: DeliveryPage,
        error: [BadRequest, ...ownerNotFound]
      }).annotateMerge(described(`List the deliveries${ofAlerts}`, "Newest first, with their attempts."))
    )
    .add(
      HttpApiEndpoint.get("delivery", `${deliveries}/:delivery_id`, {
        params: deliveryPath,
        success: EventDelivery,
        error: NotFound
      }).annotateMerge(described(`Show a delivery${ofAlerts && " of an alert"}`, "One delivery, with its attempts."))
    )
    .add(
      HttpApiEndpoint.post("resend", `${deliveries}/:delivery_id/resend`, {
        params: deliveryPath,
        success: EventDelivery,
        error: [NotFound, UnprocessableContent]
      }).annotateMerge(
        described(
          `Resend a delivery${ofAlerts && " of an alert"}`,
          "Makes attempts again, under the same id and by the whole schedule."
        )
      )
    )
    .middleware(Admin)
    .annotateMerge(OpenApi.annotations({ title, description: about }))
}

export class Destinations extends make({
  name: "destinations",
  title: "Destinations",
  about: "Where the ends of runs are sent: signed events, at least once, under one id.",
  base: "/api/webhooks/:id",
  owner: webhookPath.fields,
  one: "a destination",
  listed: "Where the ends of the webhook's runs are sent.",
  ofAlerts: "",
  missing: [NotFound]
}) {}

export class AlertDestinations extends make({
  name: "alertDestinations",
  title: "Alert destinations",
  about: "Where alerts are sent. They work like the destinations of webhooks.",
  base: "/api/alerts",
  owner: {},
  one: "an alert destination",
  listed: "Where alerts are sent.",
  ofAlerts: " of alerts",
  missing: []
}) {}
