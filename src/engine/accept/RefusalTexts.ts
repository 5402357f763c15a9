/** Why a webhook starts no run, for people who did not call it themselves. */
import type { Refused } from "./Trigger.ts"

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

export const textOf = ({ _tag }: { readonly _tag: string }): string =>
  texts[_tag as Refused["_tag"]] ?? "The webhook refuses it."
