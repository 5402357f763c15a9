import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { TemplateVersion, TemplateVersionSummary } from "../domain/prompt/TemplateVersion.ts"
import { ReceivedRequest } from "../domain/request/ReceivedRequest.ts"
import { RunStatus } from "../domain/run/Run.ts"
import { time } from "../domain/Time.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../domain/webhook/Webhook.ts"
import { Admin } from "./Auth.ts"
import { maxOverlapSeconds } from "./Overlap.ts"
import { Limit } from "./PageSize.ts"
import {
  BadRequest,
  ContentTooLarge,
  NotFound,
  PreconditionFailed,
  ServiceUnavailable,
  UnprocessableContent,
  UnsupportedMediaType
} from "./Problem.ts"
import { RunPage } from "./run/RunPage.ts"
import { DryRun, QueueCancelled } from "./run/Runs.ts"
import { SampleBody } from "./run/Trigger.ts"

const path = Schema.Struct({ id: Schema.String.annotations({ description: "The webhook's id." }) })

const IfMatch = Schema.Struct({
  "if-match": Schema.optional(
    Schema.String.annotations({
      description: 'The version that the edit is meant for, as in `ETag`: `"7"`. Any other one is refused with 412.'
    })
  )
})

/** The webhook with its token: the only time it is shown. */
export const WebhookWithToken = Schema.Struct({
  webhook: Webhook,
  token: Schema.String.annotations({ description: "The secret. It is shown now, and never again." }),
  trigger_url: Schema.String.annotations({ description: "Where to POST; it contains the token." })
}).annotations({
  identifier: "WebhookWithToken",
  description: "The webhook with its token: the only time it is shown."
})

export const Preview = Schema.Struct({
  accepted: Schema.optionalWith(
    Schema.Boolean.annotations({ description: "Whether `accept_if` holds; absent for a webhook without one." }),
    { exact: true }
  ),
  prompt: Schema.optionalWith(
    Schema.String.annotations({ description: "The prompt as it would be sent; absent while names are missing." }),
    { exact: true }
  ),
  missing: Schema.Array(Schema.String).annotations({ description: "Placeholders without a value." })
}).annotations({ identifier: "Preview", description: "The template, filled in with sample variables." })

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

export const RequestList = Schema.Struct({
  data: Schema.Array(ReceivedRequest).annotations({ description: "Newest first." })
}).annotations({ identifier: "RequestList", description: "A webhook's requests of the last day." })

const RunFilter = Schema.Struct({
  status: Schema.optional(RunStatus.annotations({ description: "Only runs in this state." })),
  from: Schema.optional(time("Only runs accepted then or later.")),
  to: Schema.optional(time("Only runs accepted before then.")),
  limit: Schema.optional(Limit),
  cursor: Schema.optional(Schema.String.annotations({ description: "`next_cursor` of the previous page." }))
})

const templatePath = Schema.Struct({
  ...path.fields,
  version: Schema.String.annotations({ description: "A `version` of the webhook." })
})

export const TemplateVersionList = Schema.Struct({
  data: Schema.Array(TemplateVersionSummary).annotations({ description: "Newest first; the first is the current one." })
}).annotations({ identifier: "TemplateVersionList", description: "The templates that a webhook has had." })

export class Webhooks extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/api/webhooks")
      .addSuccess(Schema.Array(Webhook).annotations({ description: "All webhooks." }))
      .annotateContext(OpenApi.annotations({ summary: "List the webhooks", description: "All webhooks, by name." }))
  )
  .add(
    HttpApiEndpoint.post("create", "/api/webhooks")
      .setPayload(WebhookDraft)
      .addSuccess(WebhookWithToken, { status: 201 })
      .addError(BadRequest)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Create a webhook",
          description: "The response contains the token, the only time it is shown."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/webhooks/:id")
      .setPath(path)
      .addSuccess(Webhook)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({ summary: "Show a webhook", description: "One webhook, without its token." })
      )
  )
  .add(
    HttpApiEndpoint.patch("edit", "/api/webhooks/:id")
      .setPath(path)
      .setHeaders(IfMatch)
      .setPayload(WebhookEdit)
      .addSuccess(Webhook)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(PreconditionFailed)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Edit a webhook",
          description:
            "Changes the fields that are given; `enabled` is the on/off switch. Applies from the next trigger on: accepted runs keep the settings they were accepted with. With `If-Match`, only when nobody has changed it since."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("duplicate", "/api/webhooks/:id/duplicate")
      .setPath(path)
      .setPayload(WebhookEdit)
      .addSuccess(WebhookWithToken, { status: 201 })
      .addError(BadRequest)
      .addError(NotFound)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Duplicate a webhook",
          description:
            "Creates another one with the same team, template and settings, but for the fields that are given (`{}`: none), and with a token of its own. Its name ends with `(copy)` unless one is given. It has no runs."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("templates", "/api/webhooks/:id/templates")
      .setPath(path)
      .addSuccess(TemplateVersionList)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "List the versions of the template",
          description: "Who set the webhook's template, and when, newest first; the last 100."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("template", "/api/webhooks/:id/templates/:version")
      .setPath(templatePath)
      .addSuccess(TemplateVersion)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Show a version of the template",
          description:
            "The template that the webhook had in this version, also when it was set in an earlier one: a run's `webhook_version` shows what its prompt was made from."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("restoreTemplate", "/api/webhooks/:id/templates/:version/restore")
      .setPath(templatePath)
      .setHeaders(IfMatch)
      .addSuccess(Webhook)
      .addError(NotFound)
      .addError(PreconditionFailed)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Restore a version of the template",
          description:
            "An edit, which gives the webhook the template again that it had in this version. With `If-Match`, only when nobody has changed it since."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/webhooks/:id")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The webhook was deleted." }))
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a webhook",
          description: "Forever, with all its runs. Its token stops working immediately."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("regenerate", "/api/webhooks/:id/token")
      .setPath(path)
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
  )
  .add(
    HttpApiEndpoint.del("endOldToken", "/api/webhooks/:id/old-token")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The token before is no longer valid." }))
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "End the old token",
          description: "A token that was left valid when it was regenerated stops working immediately."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("preview", "/api/webhooks/:id/preview")
      .setPath(path)
      .setPayload(SampleBody)
      .addSuccess(Preview)
      .addError(BadRequest)
      .addError(NotFound)
      .addError(ContentTooLarge)
      .addError(UnsupportedMediaType)
      .addError(UnprocessableContent)
      .annotateContext(
        OpenApi.annotations({
          summary: "Preview the prompt",
          description: "Fills in the template with sample variables. Starts no run."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("runs", "/api/webhooks/:id/runs")
      .setPath(path)
      .setUrlParams(RunFilter)
      .addSuccess(RunPage)
      .addError(BadRequest)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Read the history",
          description:
            "The webhook's runs, newest first, page by page. Long texts are cut, so a run has at most 25 KB and a page 2.5 MB."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("requests", "/api/webhooks/:id/requests")
      .setPath(path)
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
  )
  .add(
    HttpApiEndpoint.get("request", "/api/webhooks/:id/requests/:request_id")
      .setPath(
        Schema.Struct({ ...path.fields, request_id: Schema.String.annotations({ description: "The request's id." }) })
      )
      .addSuccess(ReceivedRequest)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Show a request",
          description:
            "A request as it was kept: headers, query and up to 64 KB of its body, if the webhook keeps them."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("cancelQueued", "/api/webhooks/:id/cancel-queued")
      .setPath(path)
      .setUrlParams(DryRun)
      .addSuccess(QueueCancelled)
      .addError(BadRequest)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Cancel what is queued",
          description:
            "Ends all runs of the webhook as `cancelled` that wait in its team's lane, and calls off the retries of its failed runs. They are never sent; the failed runs stay `error`."
        })
      )
  )
  .addError(ServiceUnavailable)
  .middleware(Admin)
  .annotateContext(
    OpenApi.annotations({
      title: "Webhooks",
      description: "Definitions: anyone who knows a webhook's token may send its prompt to its team."
    })
  ) {}
