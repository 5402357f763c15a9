/** What a template version stores besides its text, and how two versions differ in that. Browser-safe. */

import { webhookSettings } from "../webhook/WebhookSettings.ts"
import type { TemplateVersion } from "./TemplateVersion.ts"

const besideText = ["template_language", "input"] as const

type Versioned = Pick<TemplateVersion, "prompt_template" | "template_language" | "input">

/** The fields of a webhook that a version stores: the template, and how it is read. */
export const templateOf = ({ prompt_template, template_language, input }: Versioned) => ({
  prompt_template,
  template_language: template_language ?? webhookSettings.template_language.default,
  input: input ?? webhookSettings.input.default
})

/** The differences besides the text. Unknown fields are left out. */
export const changesBesideText = (before: Versioned, after: Versioned) =>
  besideText.flatMap((field) => {
    const [from, to] = [before[field], after[field]]
    const { label } = webhookSettings[field]
    return from === undefined || to === undefined || from === to ? [] : [{ label, from, to }]
  })
