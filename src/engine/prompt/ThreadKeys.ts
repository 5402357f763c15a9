import { createHash } from "node:crypto"
import { Effect } from "effect"
import { type PromptTooLarge, type TemplateFailed, ThreadKeyTooLong, type Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { maxThreadKey, threadKeyOf } from "../../domain/Thread.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "./Renderer.ts"

type Webhook = Pick<WebhookRow, "id" | "template_language" | "thread_key">

type ThreadKeyRefused = TemplateFailed | ThreadKeyTooLong | Unavailable

/**
 * The key of the thread that a run with this input belongs to; `undefined`: it stands alone, as for a missing value. With an
 * `owner`, the thread is only for their runs of the webhook.
 */
type ThreadKeyOf = (
  webhook: Webhook,
  input: Variables,
  owner?: string
) => Effect.Effect<string | undefined, ThreadKeyRefused>

/** The key that a template makes of an input, without blanks at its ends; `undefined`: it is blank, or a value is missing. */
const filled = (
  renderer: Renderer["Service"],
  { id, template_language }: Pick<WebhookRow, "id" | "template_language">,
  template: string,
  input: Variables
) =>
  renderer.render(template, input, { id, ...(template_language && { template_language }) }).pipe(
    Effect.map(({ prompt }) => threadKeyOf(storable(prompt))),
    Effect.catchTag("MissingVariables", () => Effect.succeed(undefined))
  )

export const make: Effect.Effect<ThreadKeyOf, never, Renderer> = Effect.map(
  Renderer,
  (renderer): ThreadKeyOf =>
    (webhook, input, owner) =>
      webhook.thread_key === undefined
        ? Effect.succeed(undefined)
        : filled(renderer, webhook, webhook.thread_key, input).pipe(
            Effect.catchTag("PromptTooLarge", () => Effect.fail(tooLong)),
            Effect.filterOrFail(
              (key) => key === undefined || key.length <= maxThreadKey,
              () => tooLong
            ),
            Effect.map((key) => (key === undefined || owner === undefined ? key : ownKey(key, webhook.id, owner)))
          )
)

/** The key of `singleton` for a request with this input, as a hash; `undefined`: it stands alone. */
export const makeSingletonKey = Effect.map(
  Renderer,
  (renderer) =>
    (
      webhook: Pick<WebhookRow, "id" | "singleton" | "template_language">,
      input: Variables
    ): Effect.Effect<string | undefined, PromptTooLarge | TemplateFailed | Unavailable> =>
      webhook.singleton === undefined
        ? Effect.succeed(undefined)
        : Effect.map(
            filled(renderer, webhook, webhook.singleton.key, input),
            (key) => key && createHash("sha256").update(key).digest("base64url")
          )
)

/**
 * The key of a thread that only this starter's runs of this webhook join. It ends with a line break, so no key that is
 * written or rendered equals it.
 */
const ownKey = (key: string, webhook: WebhookId, starter: string): string =>
  `${key}\n${createHash("sha256").update(`${webhook} ${starter}`).digest("base64url").slice(0, 22)}\n`

const tooLong = new ThreadKeyTooLong({ limit: maxThreadKey })
