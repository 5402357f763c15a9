import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Run, RunStatus, Variables } from "../domain/Run.ts"
import { time } from "../domain/Time.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../domain/Webhook.ts"
import { Admin } from "./Auth.ts"
import { BadRequest, NoSuchThing, OutOfReach, TooLarge, Unprocessable, WrongMediaType } from "./Problem.ts"

const path = Schema.Struct({ id: Schema.String.annotations({ description: "The webhook's id." }) })

/** The webhook with its token: the only time it is shown. */
export const WebhookWithToken = Schema.Struct({
  webhook: Webhook,
  token: Schema.String.annotations({ description: "The secret. It is shown now and never again." }),
  trigger_url: Schema.String.annotations({ description: "Where to POST; it holds the token." })
}).annotations({
  identifier: "WebhookWithToken",
  description: "The webhook with its token: the only time it is shown."
})

export const Preview = Schema.Struct({
  prompt: Schema.optionalWith(
    Schema.String.annotations({ description: "The prompt as it would be sent; absent while names are missing." }),
    { exact: true }
  ),
  missing: Schema.Array(Schema.String).annotations({ description: "Placeholders without a value." })
}).annotations({ identifier: "Preview", description: "What the variables would make of the template." })

export const RunFilter = Schema.Struct({
  status: Schema.optional(RunStatus.annotations({ description: "Only runs in this state." })),
  from: Schema.optional(time("Only runs accepted then or later.")),
  to: Schema.optional(time("Only runs accepted before then.")),
  limit: Schema.optional(
    Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 100)).annotations({
      jsonSchema: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many runs." }
    })
  ),
  cursor: Schema.optional(Schema.String.annotations({ description: "`next_cursor` of the page before." }))
})

export const RunPage = Schema.Struct({
  data: Schema.Array(Run).annotations({ description: "Newest first." }),
  next_cursor: Schema.NullOr(Schema.String).annotations({ description: "For the next page; null on the last one." })
}).annotations({ identifier: "RunPage", description: "A page of the history." })

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
      .addError(TooLarge)
      .addError(WrongMediaType)
      .addError(Unprocessable)
      .annotateContext(
        OpenApi.annotations({
          summary: "Make a webhook",
          description: "Answers with the token, the only time it is shown."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("show", "/api/webhooks/:id")
      .setPath(path)
      .addSuccess(Webhook)
      .addError(NoSuchThing)
      .annotateContext(
        OpenApi.annotations({ summary: "Show a webhook", description: "One webhook, without its token." })
      )
  )
  .add(
    HttpApiEndpoint.patch("edit", "/api/webhooks/:id")
      .setPath(path)
      .setPayload(WebhookEdit)
      .addSuccess(Webhook)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(TooLarge)
      .addError(WrongMediaType)
      .addError(Unprocessable)
      .annotateContext(
        OpenApi.annotations({
          summary: "Edit a webhook",
          description:
            "Changes the fields that are given; `enabled` is the on/off switch. Holds for the next trigger: runs that are accepted keep what they were accepted with."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/webhooks/:id")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent.annotations({ description: "It is gone." }))
      .addError(NoSuchThing)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a webhook",
          description: "For good, with all its runs. Its token is dead at once."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("regenerate", "/api/webhooks/:id/token")
      .setPath(path)
      .addSuccess(WebhookWithToken)
      .addError(NoSuchThing)
      .annotateContext(
        OpenApi.annotations({
          summary: "Regenerate the token",
          description: "The old token is dead at once. Answers with the new one, the only time it is shown."
        })
      )
  )
  .add(
    HttpApiEndpoint.post("preview", "/api/webhooks/:id/preview")
      .setPath(path)
      .setPayload(Schema.Struct({ variables: Variables }))
      .addSuccess(Preview)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(TooLarge)
      .addError(WrongMediaType)
      .addError(Unprocessable)
      .annotateContext(
        OpenApi.annotations({
          summary: "Preview the prompt",
          description: "Fills the template with sample variables. Runs nothing."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("runs", "/api/webhooks/:id/runs")
      .setPath(path)
      .setUrlParams(RunFilter)
      .addSuccess(RunPage)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .annotateContext(
        OpenApi.annotations({
          summary: "Read the history",
          description: "The webhook's runs, newest first, page by page."
        })
      )
  )
  .addError(OutOfReach)
  .middleware(Admin)
  .annotateContext(
    OpenApi.annotations({
      title: "Webhooks",
      description: "Definitions: who knows a token may send its prompt to its team."
    })
  ) {}
