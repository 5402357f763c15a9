/** The latest requests of a webhook. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"
import { BadRequest, NotFound } from "../Problem.ts"
import { webhookPath } from "./WebhookPath.ts"

export const RequestList = Schema.Struct({
  data: Schema.Array(ReceivedRequest).annotations({ description: "Newest first." })
}).annotations({ identifier: "RequestList", description: "A webhook's requests of the last day." })

export const listRequests = HttpApiEndpoint.get("requests", "/api/webhooks/:id/requests")
  .setPath(webhookPath)
  .setUrlParams(
    Schema.Struct({
      accepted: Schema.optional(
        Schema.Literal("true", "false").annotations({
          description: "`true`: also those that were accepted or ignored, if the webhook keeps them."
        })
      )
    })
  )
  .addSuccess(RequestList)
  .addError(BadRequest)
  .addError(NotFound)
  .annotateContext(
    OpenApi.annotations({
      summary: "Read what was refused",
      description:
        "The webhook's refused requests of the last day, newest first: up to 100, and how many more there were of the same kind. The beginnings of their bodies only if the webhook keeps them (`keep_bodies`)."
    })
  )

export const showRequest = HttpApiEndpoint.get("request", "/api/webhooks/:id/requests/:request_id")
  .setPath(
    Schema.Struct({
      ...webhookPath.fields,
      request_id: Schema.String.annotations({ description: "The request's id." })
    })
  )
  .addSuccess(ReceivedRequest)
  .addError(NotFound)
  .annotateContext(
    OpenApi.annotations({
      summary: "Show a request",
      description: "A request as it was kept: headers, query and up to 64 KB of its body, if the webhook keeps them."
    })
  )
