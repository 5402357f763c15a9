import { createHash } from "node:crypto"
import { DateTime, Option } from "effect"
import { InvalidParameter } from "../../domain/Errors.ts"
import * as Json from "../../domain/Json.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import { lookUp, pathOf } from "../../domain/prompt/Path.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { NewRun } from "../../repo/run/RunStore.ts"

/** A later trigger may replace the input, so there is no answer to wait for. */
export const waitRefused = new InvalidParameter({
  name: "wait",
  detail: "is refused: the webhook combines triggers into one run (`coalesce`), so callers cannot wait for an answer"
})

/** One run would have several callers. */
export const callbackRefused = new InvalidParameter({
  name: "callback_url",
  detail:
    "is refused: the webhook combines triggers into one run (`coalesce`), so a trigger cannot have its own callback"
})

/** Its time may be further ahead than any caller waits. */
export const laterRefused = new InvalidParameter({
  name: "wait",
  detail: "is refused: the run does not begin before the time in `not_before`, so its caller cannot wait for an answer"
})

/** Its window says when the run begins. */
export const notBeforeRefused = new InvalidParameter({
  name: "not_before",
  detail: "is refused: the webhook combines triggers into one run (`coalesce`), which begins when its window has closed"
})

/** Requests with different keys of `singleton` are never combined: one run has one key. */
export const withSingleton = (
  window: NonNullable<NewRun["coalesce"]>,
  singleton: NewRun["singleton"]
): NonNullable<NewRun["coalesce"]> =>
  singleton === undefined ? window : { ...window, key: `${window.key} ${singleton.key}` }

/** The window of a trigger. None if the webhook has no `coalesce`, or the input has no value at its key. */
export const windowOf = (
  webhook: Combined.CombinedTemplate,
  input: Variables,
  now: DateTime.Utc,
  chain_depth?: number
): NewRun["coalesce"] => {
  const { coalesce, fence, prompt_template, template_language } = webhook
  if (coalesce === undefined) return undefined
  const value = Option.getOrNull(lookUp(pathOf(coalesce.key), input))
  if (value === null) return undefined
  // Another trigger must not change a run's place in its chain. No JSON begins so, so no value can make this key.
  const place = chain_depth === undefined ? "" : `chain ${chain_depth} `
  // The value may have any length; two values of one JSON are one key.
  const key = createHash("sha256")
    .update(`${place}${Json.isNumber(value) ? Json.canonical(value) : Json.stringify(value)}`)
    .digest("base64url")
  const { quiet, within } = coalesce
  const request = Combined.keptOf(webhook, input)
  return {
    key,
    until: DateTime.add(now, { seconds: quiet ?? within }),
    latest: DateTime.add(now, { seconds: within }),
    ...(Combined.isRead(webhook) && {
      template: {
        ...{ coalesce, prompt_template },
        ...(fence !== undefined && { fence }),
        ...(template_language !== undefined && { template_language })
      }
    }),
    ...(request && { request })
  }
}
