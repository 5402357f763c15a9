import { Schema } from "effect"
import { AuditActor } from "../access/AuditEvent.ts"
import { optional, time } from "../Time.ts"
import { webhookSettings } from "../webhook/WebhookSettings.ts"

const { input, template_language } = webhookSettings

const summary = {
  version: Schema.Int.annotations({ description: "The first `version` of the webhook that has this template." }),
  template_language: Schema.Literal(...template_language.words).annotations({
    description: "The language of the template."
  }),
  input: Schema.Literal(...input.words).annotations({ description: "The source of the template's values." }),
  at: time("When the template was set."),
  actor: AuditActor,
  key_name: optional(Schema.String.annotations({ description: "The name of the API key, if it was one." })),
  person_name: optional(
    Schema.String.annotations({ description: "The name of the person, if somebody had signed in at the provider." })
  ),
  session_id: optional(Schema.String.annotations({ description: "The session of the web UI." })),
  client_address: optional(Schema.String.annotations({ description: "Where the request came from." }))
}

/** Who set a webhook's template, and when. */
export const TemplateVersionSummary = Schema.Struct(summary).annotations({
  identifier: "TemplateVersionSummary",
  description: "Who set a webhook's template, and when."
})
export type TemplateVersionSummary = typeof TemplateVersionSummary.Type

/** A current or earlier template of a webhook. */
export const TemplateVersion = Schema.Struct({
  ...summary,
  prompt_template: Schema.String.annotations({ description: "The template." })
}).annotations({ identifier: "TemplateVersion", description: "A template that a webhook has, or had." })
export type TemplateVersion = typeof TemplateVersion.Type

/** The number of templates stored for each webhook. */
export const templatesKept = 100
