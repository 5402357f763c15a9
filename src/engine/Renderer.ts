import { randomBytes } from "node:crypto"
import { Context, Effect, Either, Layer } from "effect"
import { MissingVariables, PromptTooLarge, TemplateInvalid } from "../domain/Errors.ts"
import { type Fence, fenceOf } from "../domain/Fence.ts"
import type { PromptLayout } from "../domain/PromptLayout.ts"
import type { Variables } from "../domain/Run.ts"
import * as Template from "../domain/Template.ts"
import { Settings } from "./Settings.ts"

/** A prompt, and what of it is the template's and what a value. */
export interface Rendered {
  readonly prompt: string
  /** Absent: leaders get no `template` and `values` beside the prompt. */
  readonly layout?: PromptLayout
}

export interface RenderOptions {
  /** Each value is marked as data, see `domain/Fence.ts`; default: not. */
  readonly fence?: boolean
}

/** Templates into prompts. A host may put its own in place. */
export class Renderer extends Context.Tag("webhook-trigger/Renderer")<
  Renderer,
  {
    /** The names a template asks for, each once, in order; or where it is broken. */
    readonly placeholders: (template: string) => Effect.Effect<ReadonlyArray<string>, TemplateInvalid>
    /** Fills a template that `placeholders` has accepted. */
    readonly render: (
      template: string,
      variables: Variables,
      options?: RenderOptions
    ) => Effect.Effect<Rendered, MissingVariables | PromptTooLarge>
  }
>() {
  /** `{{name}}` as `domain/Template` reads it, the prompt bounded by `Settings.maxPrompt`. */
  static readonly layer: Layer.Layer<Renderer, never, Settings> = Layer.effect(
    Renderer,
    Effect.map(Settings, ({ maxPrompt }) => ({
      placeholders: (template) =>
        Either.mapBoth(Template.parse(template), {
          onLeft: (broken) => new TemplateInvalid(broken),
          onRight: Template.names
        }),
      render: (template, variables, options) =>
        Effect.suspend((): Effect.Effect<Rendered, MissingVariables | PromptTooLarge> => {
          // Only parsed templates are stored: a broken one here is our mistake.
          const parsed = Either.getOrThrowWith(Template.parse(template), ({ reason }) => new Error(reason))
          const pieces = Template.fill(parsed, variables)
          if (Either.isLeft(pieces)) return new MissingVariables({ names: pieces.left })
          const names = parsed.placeholders.map(({ name }) => name)
          const fence = options?.fence === true && names.length > 0 ? freshFence(pieces.right) : undefined
          return joined(names, pieces.right, maxPrompt, fence)
        })
    }))
  )
}

/** With a key that is in no value: not by chance either. */
const freshFence = (pieces: ReadonlyArray<string>): Fence => {
  const key = randomBytes(8).toString("hex")
  return pieces.some((piece) => piece.includes(key)) ? freshFence(pieces) : fenceOf(key)
}

/** Measures before it joins: 10,000 placeholders for one value of 1 MiB would be 10 GB of text. */
const joined = (
  names: ReadonlyArray<string>,
  pieces: ReadonlyArray<string>,
  limit_bytes: number,
  fence: Fence | undefined
): Effect.Effect<Rendered, PromptTooLarge> => {
  const parts: Array<string> = []
  const layout: Array<PromptLayout[number]> = []
  let bytes = 0
  const add = (text: string, part: PromptLayout[number]): void => {
    bytes += Buffer.byteLength(text)
    parts.push(text)
    if (part !== 0) layout.push(part)
  }
  if (fence) add(fence.note, -fence.note.length)
  for (const [i, piece] of pieces.entries()) {
    if (i % 2 === 0) add(piece, piece.length)
    else {
      if (fence) add(fence.open, -fence.open.length)
      add(piece, [names[(i - 1) / 2]!, piece.length])
      if (fence) add(fence.close, -fence.close.length)
    }
    if (bytes > limit_bytes) return new PromptTooLarge({ limit_bytes })
  }
  return Effect.succeed({ prompt: parts.join(""), layout })
}
