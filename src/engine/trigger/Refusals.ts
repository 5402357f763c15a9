/** Why a webhook starts no run. */
import { Duration } from "effect"
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

/** Refusals that pass, though not soon. */
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

/** After which time it may pass; `undefined`: not by itself, or not soon. */
export const passesAfter = (refusal: TriggerRefused, tries: number): Duration.Duration | undefined => {
  switch (refusal._tag) {
    case "BudgetExceeded":
    case "RateLimited":
      return Duration.millis(Math.max(1_000, refusal.retry_after_ms))
    case "Unavailable":
    case "TeamNotRunning":
    case "TooManyQueued":
      return backoff(tries)
    default:
      return undefined
  }
}

/** Between two tries of what may pass at any time. */
export const longestPause = Duration.seconds(30)
const backoff = (tries: number) => Duration.min(Duration.seconds(2 ** Math.min(tries - 1, 10)), longestPause)
