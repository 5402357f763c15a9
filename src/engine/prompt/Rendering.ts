import { Effect } from "effect"
import { PromptTooLarge } from "../../domain/Errors.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { Settings } from "../Settings.ts"
import { type Rendered, Renderer, type RenderOptions, type RenderRefused } from "./Renderer.ts"

/** The inputs of a webhook's prompts. */
interface Source extends RenderOptions {
  readonly prompt_template: string
}

type Render = (source: Source, variables: Variables) => Effect.Effect<Rendered, RenderRefused>

/** Prompts for the engine, from any `Renderer`: within the limit, and storable. */
export const make: Effect.Effect<Render, never, Renderer | Settings> = Effect.map(
  Effect.all([Renderer, Settings]),
  ([renderer, { maxPrompt: limit_bytes }]) =>
    (source, variables) =>
      Effect.flatMap(renderer.render(source.prompt_template, variables, source), (rendered) => {
        const prompt = storable(rendered.prompt)
        if (Buffer.byteLength(prompt) > limit_bytes) return Effect.fail(new PromptTooLarge({ limit_bytes }))
        return Effect.succeed(prompt === rendered.prompt ? rendered : { ...rendered, prompt })
      })
)
