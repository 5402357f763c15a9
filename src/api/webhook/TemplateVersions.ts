/** The versions of a webhook's template. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { TemplateVersion, TemplateVersionSummary } from "../../domain/prompt/TemplateVersion.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import { NotFound, PreconditionFailed, UnprocessableContent } from "../Problem.ts"
import { IfMatch, webhookPath } from "./WebhookPath.ts"

const templatePath = Schema.Struct({
  ...webhookPath.fields,
  version: Schema.String.annotations({ description: "A `version` of the webhook." })
})

export const TemplateVersionList = Schema.Struct({
  data: Schema.Array(TemplateVersionSummary).annotations({ description: "Newest first; the first is the current one." })
}).annotations({ identifier: "TemplateVersionList", description: "The templates that a webhook has had." })

export const listTemplates = HttpApiEndpoint.get("templates", "/api/webhooks/:id/templates")
  .setPath(webhookPath)
  .addSuccess(TemplateVersionList)
  .addError(NotFound)
  .annotateContext(
    OpenApi.annotations({
      summary: "List the versions of the template",
      description: "Who set the webhook's template, and when, newest first; the last 100."
    })
  )

export const showTemplate = HttpApiEndpoint.get("template", "/api/webhooks/:id/templates/:version")
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

export const restoreTemplate = HttpApiEndpoint.post("restoreTemplate", "/api/webhooks/:id/templates/:version/restore")
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
