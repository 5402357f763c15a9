import { Effect } from "effect"
import { TemplateFailed, type Unavailable } from "../../domain/Errors.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { titleOfText } from "../../domain/run/RunTitle.ts"
import { commitBeside, isCommit } from "../../domain/run/WorkspaceRef.ts"
import { storable } from "../../domain/StorableText.ts"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { Renderer } from "./Renderer.ts"

type Webhook = Pick<WebhookRow, "approval" | "id" | "run_title" | "template_language" | "workspace_ref">

/** The texts that a run gets from its webhook's templates beside the prompt. */
export interface RunTexts {
  readonly title?: string
  readonly workspace_ref?: string
}

/** A run is approved for a commit, not for what a branch has when the agent starts, if the request says which one it is. */
const pinned = ({ approval, workspace_ref = "" }: Webhook, ref: string, input: Variables): string =>
  approval === "required" && !isCommit(ref) ? (commitBeside(workspace_ref, input) ?? ref) : ref

/** The longest ref, in characters. */
const maxRef = 500

const refTooLong = new TemplateFailed({
  ...{ line: 1, column: 1 },
  reason: `workspace_ref has more than ${maxRef} characters with these values`
})

/**
 * The texts of a run with this input. One is absent if the webhook does not set it, or if a value is missing. A request is never
 * refused for its title. It is for its ref, since the agent would otherwise work on another commit.
 */
type TextsOf = (webhook: Webhook, input: Variables) => Effect.Effect<RunTexts, TemplateFailed | Unavailable>

export const make: Effect.Effect<TextsOf, never, Renderer> = Effect.map(Renderer, (renderer): TextsOf => {
  const fill = ({ id, template_language }: Webhook, template: string | undefined, input: Variables) =>
    template === undefined
      ? Effect.succeed("")
      : renderer
          .render(template, input, { id, ...(template_language && { template_language }) })
          .pipe(Effect.map(({ prompt }) => storable(prompt)))
  const refOf = (webhook: Webhook, input: Variables) =>
    fill(webhook, webhook.workspace_ref, input).pipe(
      Effect.catchTags({
        MissingVariables: () => Effect.succeed(""),
        PromptTooLarge: () => Effect.fail(refTooLong)
      }),
      Effect.filterOrFail(
        (ref) => ref.length <= maxRef,
        () => refTooLong
      )
    )
  return (webhook, input) =>
    Effect.zipWith(
      Effect.orElseSucceed(fill(webhook, webhook.run_title, input), () => ""),
      refOf(webhook, input),
      (titleText, refText) => {
        const [title, ref] = [titleOfText(titleText), refText.trim()]
        return { ...(title && { title }), ...(ref !== "" && { workspace_ref: pinned(webhook, ref, input) }) }
      }
    )
})
