import { Effect } from "effect"
import type { Variables } from "../../domain/run/Run.ts"
import { titleOfText } from "../../domain/run/RunTitle.ts"
import { storable } from "../../domain/StorableText.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "./Renderer.ts"

type Webhook = Pick<WebhookRow, "id" | "run_title" | "template_language" | "workspace_ref">

/** What a run gets from its webhook's templates beside the prompt. */
export interface RunTexts {
  readonly title?: string
  readonly workspace_ref?: string
}

/**
 * The texts of a run with this input. One is absent if the webhook does not set it, or if it cannot be filled in, as for a
 * missing value. A request is never refused for it.
 */
export type TextsOf = (webhook: Webhook, input: Variables) => Effect.Effect<RunTexts>

export const make: Effect.Effect<TextsOf, never, Renderer> = Effect.map(Renderer, (renderer): TextsOf => {
  const fill = ({ id, template_language }: Webhook, template: string | undefined, input: Variables) =>
    template === undefined
      ? Effect.succeed("")
      : renderer.render(template, input, { id, ...(template_language && { template_language }) }).pipe(
          Effect.map(({ prompt }) => storable(prompt)),
          Effect.orElseSucceed(() => "")
        )
  return (webhook, input) =>
    Effect.zipWith(
      fill(webhook, webhook.run_title, input),
      fill(webhook, webhook.workspace_ref, input),
      (titleText, refText) => {
        const [title, ref] = [titleOfText(titleText), refText.trim()]
        return { ...(title && { title }), ...(ref !== "" && { workspace_ref: ref }) }
      }
    )
})
