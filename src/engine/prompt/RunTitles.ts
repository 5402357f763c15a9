import { Effect } from "effect"
import type { Variables } from "../../domain/run/Run.ts"
import { titleOfText } from "../../domain/run/RunTitle.ts"
import { storable } from "../../domain/StorableText.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "./Renderer.ts"

type Webhook = Pick<WebhookRow, "id" | "run_title" | "template_language">

/**
 * The title of a run with this input. `undefined`: the webhook sets none, or it cannot be filled in, as for a missing value.
 * A request is never refused for its title.
 */
export type TitleOf = (webhook: Webhook, input: Variables) => Effect.Effect<string | undefined>

export const make: Effect.Effect<TitleOf, never, Renderer> = Effect.map(
  Renderer,
  (renderer): TitleOf =>
    ({ id, run_title, template_language }, input) =>
      run_title === undefined
        ? Effect.succeed(undefined)
        : renderer.render(run_title, input, { id, ...(template_language && { template_language }) }).pipe(
            Effect.map(({ prompt }) => titleOfText(storable(prompt))),
            Effect.orElseSucceed(() => undefined)
          )
)
