import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Configuration, Step } from "../domain/Configuration.ts"
import { Int } from "../domain/SchemaParts.ts"
import { optional } from "../domain/Time.ts"
import { Admin } from "./access/Auth.ts"
import { described } from "./Endpoint.ts"
import { BadRequest, bodyFaults, Forbidden, PreconditionFailed } from "./Problem.ts"
import { IfMatch } from "./webhook/WebhookPath.ts"

/** In bytes: a hundred webhooks with long prompts. */
export const maxConfiguration = 8 * 1024 * 1024

const isOn = (description: string) => Schema.optional(Schema.Literals(["true", "false"]).annotate({ description }))

const Created = Schema.Struct({
  webhook: optional(Schema.String.annotate({ description: "The webhook's name." })),
  destination: optional(Schema.String.annotate({ description: "The name of one of its destinations." })),
  alert_destination: optional(Schema.String.annotate({ description: "The name of an alert destination." })),
  id: Schema.String.annotate({ description: "Its ID." }),
  token: optional(Schema.String.annotate({ description: "The token of a webhook." })),
  trigger_url: optional(Schema.String.annotate({ description: "The URL for triggers, with the token." })),
  secret: optional(Schema.String.annotate({ description: "The signing secret of a destination." }))
}).annotate({ identifier: "ConfigCreated", description: "A new object with what is shown only once." })
export type Created = typeof Created.Type

const Applied = Schema.Struct({
  steps: Schema.Array(Step).annotate({ description: "Each object, in the order of the lists." }),
  left: Schema.Array(Schema.String).annotate({
    description: "What the server has and the document does not, which is left alone."
  }),
  version: Int.annotate({ description: "Of this plan, for `If-Match`." }),
  created: Schema.Array(Created).annotate({
    description: "The tokens and signing secrets of new objects, which are shown only this once."
  }),
  not_deleted: Schema.Array(
    Schema.Struct({
      kind: Schema.String.annotate({ description: "`webhook` or `team`." }),
      name: Schema.String.annotate({ description: "Its name." }),
      detail: Schema.String.annotate({ description: "The reason." })
    })
  ).annotate({ description: "Webhooks and teams that could not be deleted, although all else was done." })
}).annotate({ identifier: "ConfigApplied", description: "What was changed or, in a dry run, would be." })
export type Applied = typeof Applied.Type

export class Config extends HttpApiGroup.make("config")
  .add(
    HttpApiEndpoint.put("apply", "/api/config", {
      query: Schema.Struct({
        dry_run: isOn("`true`: only plans; nothing is changed. The role `viewer` may do that."),
        prune: isOn("`true`: what a list does not have is deleted, webhooks with all their runs."),
        reset_secrets: isOn("`true`: sets all secrets again, also those with the same last characters.")
      }),
      headers: IfMatch,
      payload: Configuration,
      success: Applied,
      error: [...bodyFaults, BadRequest, Forbidden, PreconditionFailed]
    }).annotateMerge(
      described(
        "Apply a configuration",
        "Creates and edits teams, webhooks, destinations and alert rules, so that they are as in the document. All of it is done, or nothing; only deletions of webhooks and teams follow later. With `If-Match`, only if the plan is the one with this `version`."
      )
    )
  )
  .middleware(Admin)
  .annotateMerge(OpenApi.annotations({ title: "Configuration", description: "Configuration as code." })) {}
