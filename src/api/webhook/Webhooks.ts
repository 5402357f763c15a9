import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RunStatus } from "../../domain/run/Run.ts"
import { time } from "../../domain/Time.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../../domain/webhook/Webhook.ts"
import { Admin } from "../access/Auth.ts"
import { described, noContent } from "../Endpoint.ts"
import { listFields } from "../List.ts"
import { Limit } from "../PageSize.ts"
import { BadRequest, bodyFaults, Conflict, NotFound, PreconditionFailed } from "../Problem.ts"
import { SampleBody } from "../run/RunAnswers.ts"
import { RunPage } from "../run/RunPage.ts"
import { DryRun, QueueCancelled } from "../run/Runs.ts"
import { listRequests, showRequest } from "./ReceivedRequests.ts"
import { listTemplates, restoreTemplate, showTemplate } from "./TemplateVersions.ts"
import { endOldToken, regenerateToken, WebhookWithToken } from "./Tokens.ts"
import { IfMatch, webhookPath } from "./WebhookPath.ts"

const Preview = Schema.Struct({
  accepted: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether the request passes the filter `accept_if`; absent without a filter."
    })
  ),
  cancels: Schema.optionalKey(
    Schema.Boolean.annotate({
      description: "Whether the request passes the filter `cancel_if`, and so starts no run; absent without a filter."
    })
  ),
  ignored_because: Schema.optionalKey(
    Schema.String.annotate({
      description: "The first part of the filter that does not hold, and the values that it reads."
    })
  ),
  prompt: Schema.optionalKey(
    Schema.String.annotate({ description: "The rendered prompt; absent if variables are missing." })
  ),
  missing: Schema.Array(Schema.String).annotate({ description: "Variables without a value." }),
  thread_key: Schema.optionalKey(
    Schema.String.annotate({ description: "The key of the run's thread; absent if the run would stand alone." })
  ),
  title: Schema.optionalKey(Schema.String.annotate({ description: "The run's title; absent if it would have none." })),
  workspace_ref: Schema.optionalKey(
    Schema.String.annotate({
      description: "The branch, tag or commit to work on; absent if the run would name none."
    })
  )
}).annotate({ identifier: "Preview", description: "The prompt for sample variables." })

const RunFilter = Schema.Struct({
  status: Schema.optional(RunStatus.annotate({ identifier: undefined, description: "Only runs with this status." })),
  from: Schema.optional(time("Only runs accepted at or after this time.")),
  to: Schema.optional(time("Only runs accepted before this time.")),
  limit: Schema.optional(Limit),
  cursor: Schema.optional(Schema.String.annotate({ description: "`next_cursor` of the previous page." }))
})

const WebhookList = Schema.Struct(listFields(Webhook, "By name.")).annotate({
  identifier: "WebhookList",
  description: "All webhooks."
})

export class Webhooks extends HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("list", "/api/webhooks", { success: WebhookList }).annotateMerge(
      described("List the webhooks", "All webhooks, by name.")
    )
  )
  .add(
    HttpApiEndpoint.post("create", "/api/webhooks", {
      payload: WebhookDraft,
      success: WebhookWithToken.pipe(HttpApiSchema.status(201)),
      error: bodyFaults
    }).annotateMerge(described("Create a webhook", "The response contains the token, which is shown only once."))
  )
  .add(
    HttpApiEndpoint.get("show", "/api/webhooks/:id", {
      params: webhookPath,
      success: Webhook,
      error: NotFound
    }).annotateMerge(described("Show a webhook", "One webhook, without its token."))
  )
  .add(
    HttpApiEndpoint.patch("edit", "/api/webhooks/:id", {
      params: webhookPath,
      headers: IfMatch,
      payload: WebhookEdit,
      success: Webhook,
      error: [...bodyFaults, NotFound, PreconditionFailed]
    }).annotateMerge(
      described(
        "Edit a webhook",
        "Changes the given fields; `enabled` switches the webhook on or off. The changes apply to new triggers; accepted runs keep their settings. With `If-Match`, only if the webhook has not been edited since."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("duplicate", "/api/webhooks/:id/duplicate", {
      params: webhookPath,
      payload: WebhookEdit,
      success: WebhookWithToken.pipe(HttpApiSchema.status(201)),
      error: [...bodyFaults, NotFound]
    }).annotateMerge(
      described(
        "Duplicate a webhook",
        "Creates a webhook with the same team, template and settings, except for the given fields, and with its own token. Without a `name`, ` (copy)` is added to the name. Runs are not copied."
      )
    )
  )
  .add(
    HttpApiEndpoint.post("resume", "/api/webhooks/:id/resume", {
      params: webhookPath,
      success: Webhook,
      error: NotFound
    }).annotateMerge(
      described(
        "Resume a webhook",
        "Ends the automatic pause (`pause_after_failures`). Requests are accepted again, and the count of failures starts at zero. Resuming a webhook that is not paused changes nothing."
      )
    )
  )
  .add(listTemplates)
  .add(showTemplate)
  .add(restoreTemplate)
  .add(
    HttpApiEndpoint.delete("delete", "/api/webhooks/:id", {
      params: webhookPath,
      headers: IfMatch,
      success: noContent("The webhook was deleted."),
      error: [Conflict, NotFound, PreconditionFailed]
    }).annotateMerge(
      described(
        "Delete a webhook",
        "Permanently deletes the webhook and all its runs. Its token stops working immediately. A webhook whose URL others share is not deleted (409). With `If-Match`, only if the webhook has not been edited since."
      )
    )
  )
  .add(regenerateToken)
  .add(endOldToken)
  .add(
    HttpApiEndpoint.post("preview", "/api/webhooks/:id/preview", {
      params: webhookPath,
      payload: SampleBody,
      success: Preview,
      error: [...bodyFaults, NotFound]
    }).annotateMerge(described("Preview the prompt", "Renders the template with sample variables. Starts no run."))
  )
  .add(
    HttpApiEndpoint.get("runs", "/api/webhooks/:id/runs", {
      params: webhookPath,
      query: RunFilter,
      success: RunPage,
      error: [BadRequest, NotFound]
    }).annotateMerge(
      described(
        "List the webhook's runs",
        "Newest first, in pages. Long texts are truncated: a run has at most 25 KB and a page 2.5 MB."
      )
    )
  )
  .add(listRequests)
  .add(showRequest)
  .add(
    HttpApiEndpoint.post("cancelQueued", "/api/webhooks/:id/cancel-queued", {
      params: webhookPath,
      query: DryRun,
      success: QueueCancelled,
      error: [BadRequest, NotFound]
    }).annotateMerge(
      described(
        "Cancel all queued runs",
        "Cancels all queued runs of the webhook, and the retries of its failed runs. They are never sent. The failed runs stay `error`."
      )
    )
  )
  .middleware(Admin)
  .annotateMerge(
    OpenApi.annotations({
      title: "Webhooks",
      description: "Anyone with a webhook's token may send its prompt to its team."
    })
  ) {}
