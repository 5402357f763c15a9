import { Effect } from "effect"
import { type TemplateFailed, ThreadKeyTooLong, type Unavailable } from "../../domain/Errors.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { maxThreadKey, threadKeyOf } from "../../domain/Thread.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "./Renderer.ts"

type Webhook = Pick<WebhookRow, "id" | "template_language" | "thread_key">

export type ThreadKeyRefused = TemplateFailed | ThreadKeyTooLong | Unavailable

/** The key of the thread that a run with this input belongs to; `undefined`: it stands alone, as for a missing value. */
export type ThreadKeyOf = (webhook: Webhook, input: Variables) => Effect.Effect<string | undefined, ThreadKeyRefused>

export const make: Effect.Effect<ThreadKeyOf, never, Renderer> = Effect.map(
  Renderer,
  (renderer): ThreadKeyOf =>
    ({ id, template_language, thread_key }, input) =>
      thread_key === undefined
        ? Effect.succeed(undefined)
        : renderer.render(thread_key, input, { id, ...(template_language && { template_language }) }).pipe(
            Effect.map(({ prompt }) => threadKeyOf(storable(prompt))),
            Effect.catchTags({
              MissingVariables: () => Effect.succeed(undefined),
              PromptTooLarge: () => Effect.fail(tooLong)
            }),
            Effect.filterOrFail(
              (key) => key === undefined || key.length <= maxThreadKey,
              () => tooLong
            )
          )
)

const tooLong = new ThreadKeyTooLong({ limit: maxThreadKey })
