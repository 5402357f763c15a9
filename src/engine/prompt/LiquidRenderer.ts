/** Templates in Liquid, within limits that no template and no input can exceed. */
import { Effect } from "effect"
import { MissingVariables, PromptTooLarge, TemplateFailed, type Unavailable } from "../../domain/Errors.ts"
import type { FilledPart } from "../../domain/prompt/FilledPart.ts"
import { type Failure, tooMuchWork } from "../../domain/prompt/Liquid.ts"
import type { BrokenBraces } from "../../domain/prompt/Template.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { Evaluator } from "./Evaluator.ts"

const tooSlow = { offset: 0, line: 1, column: 1, reason: tooMuchWork }

const storablePart = (part: FilledPart): FilledPart =>
  typeof part === "string" ? storable(part) : "text" in part ? { ...part, text: storable(part.text) } : part

const failed = ({ line, column, reason }: Pick<BrokenBraces, "line" | "column" | "reason">) =>
  new TemplateFailed({ line, column, reason })

export type FillRefused = MissingVariables | PromptTooLarge | TemplateFailed | Unavailable

export const make = (limit_bytes: number) =>
  Effect.map(Evaluator, ({ evaluate }) => {
    /** The names that the template reads; or its fault, such as exceeding a limit for any input. */
    const names = (template: string): Effect.Effect<ReadonlyArray<string>, BrokenBraces | Unavailable> =>
      evaluate("names", { template }).pipe(
        Effect.catchTag("TooSlow", () => Effect.succeed({ broken: tooSlow })),
        Effect.flatMap((result) => ("names" in result ? Effect.succeed(result.names) : Effect.fail(result.broken)))
      )

    const refusalOf = (failure: Failure): FillRefused => {
      switch (failure._tag) {
        case "Missing":
          return new MissingVariables({ names: failure.names })
        case "TooLong":
          return new PromptTooLarge({ limit_bytes })
        case "Failed":
          return failed(failure)
      }
    }

    /** `key`: whose CPU time it takes; default: who asks. */
    const fill = (
      template: string,
      variables: Variables,
      key?: string
    ): Effect.Effect<ReadonlyArray<FilledPart>, FillRefused> =>
      evaluate("fill", { template, variables, limit: limit_bytes }, key).pipe(
        Effect.catchTag("TooSlow", () => Effect.fail(failed(tooSlow))),
        Effect.flatMap((result) =>
          "parts" in result
            ? // A filter may cut a character in half, or decode text that cannot be stored.
              Effect.succeed(result.parts.map(storablePart))
            : Effect.fail(refusalOf(result.failure))
        )
      )

    return { names, fill }
  })
