import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Run, RunStatus, Variables } from "../domain/Run.ts"
import { Webhook, WebhookDraft, WebhookEdit } from "../domain/Webhook.ts"
import { Admin } from "./Auth.ts"
import { BadRequest, NoSuchThing, OutOfReach, Unprocessable } from "./Problem.ts"

const path = Schema.Struct({ id: Schema.String })

/** The webhook with its token: the only time it is shown. */
export const WebhookWithToken = Schema.Struct({
  webhook: Webhook,
  token: Schema.String,
  trigger_url: Schema.String
}).annotations({ identifier: "WebhookWithToken" })

export const Preview = Schema.Struct({
  /** The prompt as it would be sent; absent while names are missing. */
  prompt: Schema.optionalWith(Schema.String, { exact: true }),
  missing: Schema.Array(Schema.String)
}).annotations({ identifier: "Preview" })

export const RunFilter = Schema.Struct({
  status: Schema.optional(RunStatus),
  limit: Schema.optional(Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 100))),
  cursor: Schema.optional(Schema.String)
})

export const RunPage = Schema.Struct({
  data: Schema.Array(Run),
  next_cursor: Schema.NullOr(Schema.String)
}).annotations({ identifier: "RunPage" })

export class Webhooks extends HttpApiGroup.make("webhooks")
  .add(HttpApiEndpoint.get("list", "/api/webhooks").addSuccess(Schema.Array(Webhook)))
  .add(
    HttpApiEndpoint.post("create", "/api/webhooks")
      .setPayload(WebhookDraft)
      .addSuccess(WebhookWithToken, { status: 201 })
      .addError(BadRequest)
      .addError(Unprocessable)
  )
  .add(HttpApiEndpoint.get("show", "/api/webhooks/:id").setPath(path).addSuccess(Webhook).addError(NoSuchThing))
  .add(
    HttpApiEndpoint.patch("edit", "/api/webhooks/:id")
      .setPath(path)
      .setPayload(WebhookEdit)
      .addSuccess(Webhook)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(Unprocessable)
  )
  .add(
    HttpApiEndpoint.del("delete", "/api/webhooks/:id")
      .setPath(path)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(NoSuchThing)
  )
  .add(
    HttpApiEndpoint.post("regenerate", "/api/webhooks/:id/token")
      .setPath(path)
      .addSuccess(WebhookWithToken)
      .addError(NoSuchThing)
  )
  .add(
    HttpApiEndpoint.post("preview", "/api/webhooks/:id/preview")
      .setPath(path)
      .setPayload(Schema.Struct({ variables: Variables }))
      .addSuccess(Preview)
      .addError(BadRequest)
      .addError(NoSuchThing)
      .addError(Unprocessable)
  )
  .add(
    HttpApiEndpoint.get("runs", "/api/webhooks/:id/runs")
      .setPath(path)
      .setUrlParams(RunFilter)
      .addSuccess(RunPage)
      .addError(BadRequest)
      .addError(NoSuchThing)
  )
  .addError(OutOfReach)
  .middleware(Admin) {}
