import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { RunStatus } from "../../domain/run/Run.ts"
import { time } from "../../domain/Time.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { Admin } from "../Auth.ts"
import { Limit } from "../PageSize.ts"
import {
  BadRequest,
  ContentTooLarge,
  NotFound,
  PreconditionFailed,
  ServiceUnavailable,
  UnprocessableContent,
  UnsupportedMediaType
} from "../Problem.ts"
import { RunPage } from "../run/RunPage.ts"
import { DryRun, QueueCancelled } from "../run/Runs.ts"
import { SampleBody } from "../run/Trigger.ts"
import { listRequests, showRequest } from "./ReceivedRequests.ts"
import { listTemplates, restoreTemplate, showTemplate } from "./TemplateVersions.ts"
import { endOldToken, regenerateToken, WebhookWithToken } from "./Tokens.ts"
import { IfMatch, webhookPath } from "./WebhookPath.ts"

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

const RunFilter = Schema.Struct({
  status: Schema.optional(RunStatus.annotations({ description: "Only runs in this state." })),
  from: Schema.optional(time("Only runs accepted then or later.")),
  to: Schema.optional(time("Only runs accepted before then.")),
  limit: Schema.optional(Limit),
  cursor: Schema.optional(Schema.String.annotations({ description: "`next_cursor` of the previous page." }))
})

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
      .setPath(webhookPath)
      .addSuccess(Webhook)
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({ summary: "Show a webhook", description: "One webhook, without its token." })
      )
  )
  .add(
    HttpApiEndpoint.patch("edit", "/api/webhooks/:id")
      .setPath(webhookPath)
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
      .setPath(webhookPath)
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
  .add(listTemplates)
  .add(showTemplate)
  .add(restoreTemplate)
  .add(
    HttpApiEndpoint.del("delete", "/api/webhooks/:id")
      .setPath(webhookPath)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "The webhook was deleted." }))
      .addError(NotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a webhook",
          description: "Forever, with all its runs. Its token stops working immediately."
        })
      )
  )
  .add(regenerateToken)
  .add(endOldToken)
  .add(
    HttpApiEndpoint.post("preview", "/api/webhooks/:id/preview")
      .setPath(webhookPath)
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
      .setPath(webhookPath)
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
  .add(listRequests)
  .add(showRequest)
  .add(
    HttpApiEndpoint.post("cancelQueued", "/api/webhooks/:id/cancel-queued")
      .setPath(webhookPath)
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
