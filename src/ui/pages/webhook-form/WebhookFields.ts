/** The fields of the webhook form as text, and the merging of concurrent edits. */
import {
  type WebhookSettingName,
  webhookSettingNames,
  webhookSettings
} from "../../../domain/webhook/WebhookSettings.ts"
import type { Webhook } from "../../api/Types.ts"
import { type VerificationTexts, verificationTexts } from "./VerificationFields.tsx"
import { settingTexts } from "./WebhookSettings.tsx"

export type WebhookField = "name" | "team" | "prompt_template" | WebhookSettingName | keyof VerificationTexts

export type WebhookTexts = Readonly<Record<WebhookField, string>>

const webhookFields: ReadonlyArray<WebhookField> = [
  ...(["name", "team", "prompt_template"] as const),
  ...webhookSettingNames,
  ...(["verification", "secret", "keep_old_secret"] as const)
]

const plainLabels = {
  ...{ name: "Name", team: "Team", prompt_template: "Prompt template" },
  ...{ verification: "Verification", secret: "Secret", keep_old_secret: "Old secret" }
}

export const fieldLabel = (field: WebhookField): string =>
  field in plainLabels
    ? plainLabels[field as keyof typeof plainLabels]
    : webhookSettings[field as WebhookSettingName].label

/** The initial values of the fields. */
export const textsOf = (webhook: Partial<Webhook> | undefined): WebhookTexts => ({
  name: webhook?.name ?? "",
  team: webhook?.team ?? "",
  prompt_template: webhook?.prompt_template ?? "",
  ...settingTexts(webhook),
  ...verificationTexts(webhook)
})

export const changedFields = (before: WebhookTexts, after: WebhookTexts): ReadonlyArray<WebhookField> =>
  webhookFields.filter((field) => before[field] !== after[field])

/** A field with different edits here and elsewhere. */
export interface Conflict {
  readonly field: WebhookField
  readonly mine: string
  readonly theirs: string
}

/** A three-way merge. In a conflict it keeps the user's own text. */
export const merge = (
  base: WebhookTexts,
  mine: WebhookTexts,
  theirs: WebhookTexts
): { readonly texts: WebhookTexts; readonly conflicts: ReadonlyArray<Conflict> } => {
  const changed = changedFields(base, mine)
  return {
    texts: { ...theirs, ...Object.fromEntries(changed.map((field) => [field, mine[field]])) },
    conflicts: changed
      .filter((field) => theirs[field] !== base[field] && theirs[field] !== mine[field])
      .map((field) => ({ field, mine: mine[field], theirs: theirs[field] }))
  }
}
