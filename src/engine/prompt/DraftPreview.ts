/** Previews a template that is being edited, before anything is saved. */
import { Effect, Result } from "effect"
import type { Invalid, InvalidVariables, TemplateInvalid, Unavailable } from "../../domain/Errors.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import { keyOf } from "../../domain/prompt/Path.ts"
import type { WebhookDraft } from "../../domain/webhook/Webhook.ts"
import * as Input from "./Input.ts"
import { type Place, type Rendered, Renderer, type RenderRefused } from "./Renderer.ts"
import * as Rendering from "./Rendering.ts"

/** The parts of a webhook that make its prompts. */
type Draft = Pick<WebhookDraft, "prompt_template" | "template_language" | "input" | "fence" | "coalesce">

export interface DraftPreview {
  readonly names: ReadonlyArray<string>
  /** Absent: the renderer does not say. */
  readonly places?: ReadonlyArray<Place>
  readonly rendered: Result.Result<Rendered, RenderRefused | Invalid | InvalidVariables>
}

/** Variables without a sample value are empty. `TemplateInvalid`: the template cannot be saved. */
export type PreviewDraft = (
  draft: Draft,
  sample: Input.Sample
) => Effect.Effect<DraftPreview, TemplateInvalid | Unavailable>

export const make: Effect.Effect<PreviewDraft, never, Effect.Services<typeof Rendering.make>> = Effect.gen(
  function* () {
    const renderer = yield* Renderer
    const render = yield* Rendering.make
    return Effect.fn("Webhooks.previewDraft")(function* (draft: Draft, sample: Input.Sample) {
      const { prompt_template } = draft
      const names = Combined.namesOfRequest(draft, yield* renderer.placeholders(prompt_template, draft))
      const places = renderer.places?.(prompt_template, draft)
      const empty = Object.fromEntries(names.map((name) => [keyOf(name), ""]))
      const filledIn = Input.ofSample(draft, { ...sample, variables: { ...empty, ...sample.variables } }).pipe(
        Result.flatMap((input) => Input.used({ ...draft, variables: names }, input))
      )
      const rendered = yield* Effect.result(
        Effect.flatMap(Effect.fromResult(filledIn), (variables) => render(draft, variables))
      )
      return { names, ...(places && { places }), rendered }
    })
  }
)
