import { createHash } from "node:crypto"
import { Effect } from "effect"
import { type TemplateFailed, ThreadKeyTooLong, type Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { maxThreadKey, threadKeyOf } from "../../domain/Thread.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "./Renderer.ts"

type Webhook = Pick<WebhookRow, "id" | "template_language" | "thread_key">

export type ThreadKeyRefused = TemplateFailed | ThreadKeyTooLong | Unavailable

/**
 * The key of the thread that a run with this input belongs to; `undefined`: it stands alone, as for a missing value. With an
 * `owner`, the thread is only for their runs of the webhook.
 */
export type ThreadKeyOf = (
  webhook: Webhook,
  input: Variables,
  owner?: string
) => Effect.Effect<string | undefined, ThreadKeyRefused>

export const make: Effect.Effect<ThreadKeyOf, never, Renderer> = Effect.map(
  Renderer,
  (renderer): ThreadKeyOf =>
    ({ id, template_language, thread_key }, input, owner) =>
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
            ),
            Effect.map((key) => (key === undefined || owner === undefined ? key : ownKey(key, id, owner)))
          )
)

/**
 * The key of a thread that only this starter's runs of this webhook join. It ends with a line break, so no key that is
 * written or rendered equals it.
 */
const ownKey = (key: string, webhook: WebhookId, starter: string): string =>
  `${key}\n${createHash("sha256").update(`${webhook} ${starter}`).digest("base64url").slice(0, 22)}\n`

const tooLong = new ThreadKeyTooLong({ limit: maxThreadKey })
