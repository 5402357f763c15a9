/** Why a webhook starts no run. */
import type * as Errors from "../../domain/Errors.ts"

export type Refused =
  | Errors.InvalidVariables
  | Errors.FilterFailed
  | Errors.SchemaMismatch
  | Errors.MissingVariables
  | Errors.PromptTooLarge
  | Errors.TemplateFailed
  | Errors.ThreadKeyTooLong
  | Errors.TeamNotRunning
  | Errors.WebhookPaused
  | Errors.BudgetExceeded
  | Errors.RateLimited
  | Errors.TooManyQueued
  | Errors.IdempotencyKeyReused
  | Errors.NotFound
  | Errors.Unavailable

/** Why a webhook's request starts no run. */
export type TriggerRefused = Errors.InvalidParameter | Refused

/** What passes, though not soon. */
export const passing = {
  TeamNotRunning: "No leader of the team is connected.",
  WebhookPaused: "The webhook is paused.",
  BudgetExceeded: "The webhook has used its budget for today."
} as const satisfies { readonly [Tag in Refused["_tag"]]?: string }

const texts: { readonly [Tag in Refused["_tag"]]?: string } = {
  ...passing,
  IdempotencyKeyReused: "It came before, with another text.",
  PromptTooLarge: "It is too long.",
  RateLimited: "The webhook gets too many requests.",
  TooManyQueued: "Too many runs wait."
}

/** For people who did not call the webhook themselves. */
export const textOf = ({ _tag }: { readonly _tag: string }): string =>
  texts[_tag as Refused["_tag"]] ?? "The webhook refuses it."
