import { DateTime, Effect } from "effect"
import { warningsOf } from "../../domain/webhook/Warnings.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "../prompt/Renderer.ts"
import * as OwnMessageWarning from "./OwnMessageWarning.ts"

/** A webhook as people see it: with warnings about its settings, and without an old token whose time is over. */
export const make = Effect.map(Effect.all([Renderer, OwnMessageWarning.make]), ([renderer, ownMessages]) => {
  /** A stored key has no fault, but a busy server may not get to parse it. */
  const namesInThreadKey = ({ template_language, thread_key }: Webhook) =>
    thread_key === undefined
      ? Effect.succeed([])
      : Effect.orElseSucceed(
          renderer.placeholders(thread_key, { ...(template_language && { template_language }) }),
          () => []
        )

  return (webhook: Webhook): Effect.Effect<Webhook> =>
    Effect.gen(function* () {
      const warnings = [
        ...warningsOf(webhook, yield* namesInThreadKey(webhook)),
        ...(yield* Effect.orElseSucceed(ownMessages(webhook), () => []))
      ]
      const current = withoutOldToken(webhook, yield* DateTime.now)
      return warnings.length === 0 ? current : { ...current, warnings }
    })
})

const withoutOldToken = (webhook: Webhook, now: DateTime.Utc): Webhook => {
  const { old_token_hint, old_token_used_at, old_token_used_from, old_token_valid_until: until, ...rest } = webhook
  return until !== undefined && DateTime.lessThanOrEqualTo(until, now) ? rest : webhook
}
