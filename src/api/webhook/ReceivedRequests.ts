/** The latest requests of a webhook. */
import { Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import { Int } from "../../domain/SchemaParts.ts"
import { described } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { BadRequest, NotFound } from "../Problem.ts"
import { webhookPath } from "./WebhookPath.ts"

const RequestList = Schema.Struct({
  ...listFields(ReceivedRequest, "Newest first."),
  ignored: Int.annotate({
    description:
      "How many requests were ignored in the last 24 hours, listed or not, counted in periods of ten minutes."
  })
}).annotate({
  identifier: "RequestList",
  description: "A webhook's requests in the last 24 hours."
})

export const listRequests = HttpApiEndpoint.get("requests", "/api/webhooks/:id/requests", {
  params: webhookPath,
  query: Schema.Struct({
    ignored: Schema.optional(
      Schema.Literals(["true", "false"]).annotate({
        description:
          "`true`: also the newest 20 ignored requests, such as those that did not pass the filter `accept_if`."
      })
    ),
    accepted: Schema.optional(
      Schema.Literals(["true", "false"]).annotate({
        description: "`true`: also ignored requests, and the newest 20 accepted ones, if the webhook stores them."
      })
    )
  }),
  success: RequestList,
  error: [BadRequest, NotFound]
}).annotateMerge(
  described(
    "List rejected and ignored requests",
    "Up to 100 rejected requests of the last 24 hours, newest first, each with the number of similar ones; on request also ignored and accepted ones. They contain the beginning of the body if the webhook stores requests (`store_requests`)."
  )
)

export const showRequest = HttpApiEndpoint.get("request", "/api/webhooks/:id/requests/:request_id", {
  params: Schema.Struct({
    ...webhookPath.fields,
    request_id: Schema.String.annotate({ description: "The request's id." })
  }),
  success: ReceivedRequest,
  error: NotFound
}).annotateMerge(
  described(
    "Show a request",
    "A stored request: headers, query and up to 64 KB of the body, if the webhook stores requests (`store_requests`)."
  )
)
