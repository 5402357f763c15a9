/** What every driver stores in the same way. */
import type { Outcome, RunRow } from "../domain/Run.ts"

/**
 * Text as every driver can store it: PostgreSQL takes no U+0000, and UTF-8 no lone surrogate; each becomes U+FFFD. So a
 * leader's answer is stored in any case.
 */
export const storable = (text: string): string =>
  text.isWellFormed() && !text.includes("\0") ? text : text.replace(/[\0\p{Surrogate}]/gu, "\ufffd")

/** What an end sets in a run's row, besides its times. */
export const outcomeFields = (
  outcome: Outcome
): Pick<RunRow, "status" | "response" | "error_code" | "error_message"> => {
  const { status } = outcome
  switch (status) {
    case "success":
      return { status, response: outcome.response }
    case "error":
      return { status, error_code: outcome.error.code, error_message: outcome.error.message }
    case "timeout":
      return { status }
  }
}

/** Whether the outcome is the leader's own word: then it got the prompt, whether or not that was recorded. */
export const isAnswer = (outcome: Outcome): boolean => {
  switch (outcome.status) {
    case "success":
      return true
    case "error":
      return outcome.error.code === "agent_error"
    case "timeout":
      return false
  }
}

/** Of several items for one run, the first, in the order of the runs' first items. */
export const firstOfEach = <A extends { readonly run_id: string }>(items: Iterable<A>): ReadonlyArray<A> => {
  const first = new Map<string, A>()
  for (const item of items) if (!first.has(item.run_id)) first.set(item.run_id, item)
  return [...first.values()]
}
