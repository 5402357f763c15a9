import { Schema } from "effect"
import { AuditActor } from "../access/AuditEvent.ts"
import { Int } from "../SchemaParts.ts"
import { optional, time } from "../Time.ts"
import { webhookSettings } from "../webhook/WebhookSettings.ts"

const { input, template_language } = webhookSettings

const summary = {
  version: Int.annotate({ description: "The first `version` of the webhook that has this template." }),
  template_language: Schema.Literals(template_language.words).annotate({
    description: "The language of the template."
  }),
  input: Schema.Literals(input.words).annotate({ description: "The source of the template's values." }),
  at: time("When the template was set."),
  actor: AuditActor,
  key_name: optional(Schema.String.annotate({ description: "The name of the API key, if it was one." })),
  person_name: optional(
    Schema.String.annotate({ description: "The name of the person, if somebody had signed in at the provider." })
  ),
  session_id: optional(Schema.String.annotate({ description: "The session of the web UI." })),
  client_address: optional(Schema.String.annotate({ description: "Where the request came from." }))
}

/** Who set a webhook's template, and when. */
export const TemplateVersionSummary = Schema.Struct(summary).annotate({
  identifier: "TemplateVersionSummary",
  description: "Who set a webhook's template, and when."
})
export type TemplateVersionSummary = typeof TemplateVersionSummary.Type

/** A current or earlier template of a webhook. */
export const TemplateVersion = Schema.Struct({
  ...summary,
  prompt_template: Schema.String.annotate({ description: "The template." })
}).annotate({ identifier: "TemplateVersion", description: "A template that a webhook has, or had." })
export type TemplateVersion = typeof TemplateVersion.Type

/** The number of templates stored for each webhook. */
export const templatesKept = 100
