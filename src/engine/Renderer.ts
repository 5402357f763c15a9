import { Context, Effect, Either, Layer } from "effect"
import { MissingVariables, PromptTooLarge, TemplateInvalid } from "../domain/Errors.ts"
import type { Variables } from "../domain/Run.ts"
import * as Template from "../domain/Template.ts"
import { Settings } from "./Settings.ts"

/** Templates into prompts. A host may put its own in place. */
export class Renderer extends Context.Tag("webhook-trigger/Renderer")<
  Renderer,
  {
    /** The names a template asks for, each once, in order; or where it is broken. */
    readonly placeholders: (template: string) => Effect.Effect<ReadonlyArray<string>, TemplateInvalid>
    /** Fills a template that `placeholders` has accepted. */
    readonly render: (
      template: string,
      variables: Variables
    ) => Effect.Effect<string, MissingVariables | PromptTooLarge>
  }
>() {
  /** `{{name}}` as `domain/Template` reads it, the prompt bounded by `Settings.maxPrompt`. */
  static readonly layer: Layer.Layer<Renderer, never, Settings> = Layer.effect(
    Renderer,
    Effect.map(Settings, ({ maxPrompt }) => ({
      placeholders: (template) =>
        Either.mapBoth(Template.parse(template), {
          onLeft: (broken) => new TemplateInvalid(broken),
          onRight: Template.placeholders
        }),
      render: (template, variables) =>
        Effect.suspend((): Effect.Effect<string, MissingVariables | PromptTooLarge> => {
          // Only parsed templates are stored: a broken one here is our mistake.
          const parsed = Either.getOrThrowWith(Template.parse(template), ({ reason }) => new Error(reason))
          const pieces = Template.fill(parsed, variables)
          return Either.isLeft(pieces) ? new MissingVariables({ names: pieces.left }) : joined(pieces.right, maxPrompt)
        })
    }))
  )
}

/** Measures before it joins: 10,000 placeholders for one value of 1 MiB would be 10 GB of text. */
const joined = (pieces: ReadonlyArray<string>, limit_bytes: number): Effect.Effect<string, PromptTooLarge> => {
  let bytes = 0
  for (const piece of pieces) {
    bytes += Buffer.byteLength(piece)
    if (bytes > limit_bytes) return new PromptTooLarge({ limit_bytes })
  }
  return Effect.succeed(pieces.join(""))
}
