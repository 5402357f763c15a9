/** The versions of a webhook's template. */
import { Schema } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { TemplateVersion, TemplateVersionSummary } from "../../domain/prompt/TemplateVersion.ts"
import { Webhook } from "../../domain/webhook/Webhook.ts"
import { described } from "../Endpoint.ts"
import { NotFound, PreconditionFailed, UnprocessableContent } from "../Problem.ts"
import { IfMatch, webhookPath } from "./WebhookPath.ts"

const templatePath = Schema.Struct({
  ...webhookPath.fields,
  version: Schema.String.annotate({ description: "A `version` of the webhook." })
})

const TemplateVersionList = Schema.Struct({
  data: Schema.Array(TemplateVersionSummary).annotate({
    description: "Newest first, starting with the current one."
  })
}).annotate({ identifier: "TemplateVersionList", description: "The versions of a webhook's template." })

export const listTemplates = HttpApiEndpoint.get("templates", "/api/webhooks/:id/templates", {
  params: webhookPath,
  success: TemplateVersionList,
  error: NotFound
}).annotateMerge(
  described(
    "List the versions of the template",
    "Who changed the webhook's template, and when. The latest 100 versions, newest first."
  )
)

export const showTemplate = HttpApiEndpoint.get("template", "/api/webhooks/:id/templates/:version", {
  params: templatePath,
  success: TemplateVersion,
  error: NotFound
}).annotateMerge(
  described(
    "Show a version of the template",
    "The webhook's template in this version. With a run's `webhook_version`, this is the template of the run's prompt."
  )
)

export const restoreTemplate = HttpApiEndpoint.post("restoreTemplate", "/api/webhooks/:id/templates/:version/restore", {
  params: templatePath,
  headers: IfMatch,
  success: Webhook,
  error: [NotFound, PreconditionFailed, UnprocessableContent]
}).annotateMerge(
  described(
    "Restore a version of the template",
    "Edits the webhook so that it has the template of this version again. With `If-Match`, only if the webhook has not been edited since."
  )
)
