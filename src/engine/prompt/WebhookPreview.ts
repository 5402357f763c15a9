/** Previews the prompt of a saved webhook. */
import { Effect } from "effect"
import type {
  FilterFailed,
  Invalid,
  InvalidVariables,
  PromptTooLarge,
  SchemaMismatch,
  TemplateFailed,
  ThreadKeyTooLong
} from "../../domain/Errors.ts"
import { textOfReason } from "../../domain/prompt/FilterReason.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import * as Input from "./Input.ts"
import { InputChecks } from "./InputChecks.ts"
import * as Rendering from "./Rendering.ts"
import * as RunTexts from "./RunTexts.ts"
import * as ThreadKeys from "./ThreadKeys.ts"

export interface Preview {
  /** Whether `accept_if` holds; absent for a webhook without one. */
  readonly accepted?: boolean
  /** Whether `cancel_if` holds; absent for a webhook without one. */
  readonly cancels?: boolean
  /** Why `accept_if` does not. */
  readonly ignored_because?: string
  /** Absent while values are missing. */
  readonly prompt?: string
  readonly missing: ReadonlyArray<string>
  /** Absent: the run would stand alone. */
  readonly thread_key?: string
  /** Absent: the run would have none. */
  readonly title?: string
  readonly workspace_ref?: string
}

export type PreviewRefused =
  | FilterFailed
  | Invalid
  | InvalidVariables
  | PromptTooLarge
  | SchemaMismatch
  | TemplateFailed
  | ThreadKeyTooLong

export const make = Effect.gen(function* () {
  const render = yield* Rendering.make
  const threadKeyOf = yield* ThreadKeys.make
  const textsOf = yield* RunTexts.make
  const inputChecks = yield* InputChecks

  return Effect.fn("Webhooks.preview")(function* (webhook: Webhook, sample: Input.Sample) {
    const input = yield* Effect.fromResult(Input.ofSample(webhook, sample))
    const variables = yield* Effect.fromResult(Input.used(webhook, input))
    const cancels = yield* inputChecks.cancels(webhook, input)
    const accepted = yield* inputChecks.check(webhook, input).pipe(
      Effect.as(true),
      Effect.catchTag("Ignored", () => Effect.succeed(false))
    )
    const thread_key = yield* threadKeyOf(webhook, input)
    const texts = yield* textsOf(webhook, input)
    const reason = accepted ? undefined : inputChecks.ignoredBecause(webhook, input)
    const others = {
      ...(webhook.accept_if !== undefined && { accepted }),
      ...(webhook.cancel_if !== undefined && { cancels }),
      ...(reason && { ignored_because: textOfReason(reason, { withValues: true }) }),
      ...(thread_key !== undefined && { thread_key }),
      ...texts
    }
    return yield* render(webhook, variables).pipe(
      Effect.map(({ prompt }): Preview => ({ ...others, prompt, missing: [] })),
      Effect.catchTag("MissingVariables", ({ names }) => Effect.succeed<Preview>({ ...others, missing: names }))
    )
  })
})
