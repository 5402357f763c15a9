/** What a version of a template keeps beside its text, and how two differ in that. Browser-safe. */

import { webhookSettings } from "../webhook/WebhookSettings.ts"
import type { TemplateVersion } from "./TemplateVersion.ts"

const besideText = ["template_language", "input"] as const

type Versioned = Pick<TemplateVersion, "prompt_template" | "template_language" | "input">

/** What a version keeps of a webhook: the template, and what it is read by. */
export const templateOf = ({ prompt_template, template_language, input }: Versioned) => ({
  prompt_template,
  template_language: template_language ?? webhookSettings.template_language.default,
  input: input ?? webhookSettings.input.default
})

/** What differs beside the text; what is not known of one of them is left out. */
export const changesBesideText = (before: Versioned, after: Versioned) =>
  besideText.flatMap((field) => {
    const [from, to] = [before[field], after[field]]
    const { label } = webhookSettings[field]
    return from === undefined || to === undefined || from === to ? [] : [{ label, from, to }]
  })
