/** The settings that a template version stores besides its text, and how two versions differ in them. Browser-safe. */

import type { Webhook } from "../webhook/Webhook.ts"
import { webhookSettings } from "../webhook/WebhookSettings.ts"
import type { TemplateVersion } from "./TemplateVersion.ts"

const besideText = ["template_language", "input"] as const

/** The fields of a webhook that a version stores: the template, and how it is read. */
export const templateOf = ({
  prompt_template,
  template_language,
  input
}: Pick<Webhook, "prompt_template" | "template_language" | "input">) => ({
  prompt_template,
  template_language: template_language ?? webhookSettings.template_language.default,
  input: input ?? webhookSettings.input.default
})

type BesideText = Pick<TemplateVersion, (typeof besideText)[number]>

/** The differences besides the text. */
export const changesBesideText = (before: BesideText, after: BesideText) =>
  besideText.flatMap((field) => {
    const [from, to] = [before[field], after[field]]
    const { label } = webhookSettings[field]
    return from === to ? [] : [{ label, from, to }]
  })
