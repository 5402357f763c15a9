/** Templates in Liquid, within limits that no template and no input can exceed. */
import { Either } from "effect"
import { MissingVariables, PromptTooLarge, TemplateFailed, Unavailable } from "../../domain/Errors.ts"
import type { FilledPart } from "../../domain/prompt/FilledPart.ts"
import * as Liquid from "../../domain/prompt/Liquid.ts"
import type { BrokenBraces } from "../../domain/prompt/Template.ts"
import type { Variables } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { RecentMap } from "../../runtime/RecentMap.ts"
import * as Evaluation from "./Evaluation.ts"
import { withinTime } from "./TimeLimit.ts"

/** The CPU time that rendering a template may take, in milliseconds: four times what its budget usually takes. */
const renderTime = 1_000

/** The CPU time that parsing a template may take. */
const parseTime = 200

/** Parsed templates in memory, at most. */
const capacity = 400

const tooSlow = { offset: 0, line: 1, column: 1, reason: Liquid.tooMuchWork }

const storablePart = (part: FilledPart): FilledPart =>
  typeof part === "string" ? storable(part) : "text" in part ? { ...part, text: storable(part.text) } : part

const inTime = <A>(
  milliseconds: number,
  run: () => Either.Either<A, BrokenBraces>
): Either.Either<A, BrokenBraces | Unavailable> => {
  const result = withinTime(milliseconds, run)
  if (Either.isRight(result)) return result.right
  return Either.left(result.left._tag === "TooSlow" ? tooSlow : result.left)
}

export const make = (limit_bytes: number) => {
  const parsed = new RecentMap<string, Liquid.LiquidTemplate>(capacity)
  const evaluate = Evaluation.make<string>(renderTime)

  const parse = (text: string): Either.Either<Liquid.LiquidTemplate, BrokenBraces | Unavailable> => {
    const known = parsed.get(text)
    if (known !== undefined) return Either.right(known)
    const fresh = inTime(parseTime, () => Liquid.parse(text))
    if (Either.isRight(fresh)) parsed.set(text, fresh.right)
    return fresh
  }

  /** The names that the template reads; or its fault, such as exceeding a limit for any input. */
  const names = (text: string): Either.Either<ReadonlyArray<string>, BrokenBraces | Unavailable> =>
    Either.flatMap(parse(text), (template) =>
      inTime(renderTime, () => {
        const excess = Liquid.excessOf(template)
        return excess === undefined ? Either.right(template.names) : Either.left(excess)
      })
    )

  const failed = ({ line, column, reason }: Pick<BrokenBraces, "line" | "column" | "reason">) =>
    new TemplateFailed({ line, column, reason })

  const refusalOf = (failure: Liquid.Failure): MissingVariables | PromptTooLarge | TemplateFailed => {
    switch (failure._tag) {
      case "Missing":
        return new MissingVariables({ names: failure.names })
      case "TooLong":
        return new PromptTooLarge({ limit_bytes })
      case "Failed":
        return failed(failure)
    }
  }

  /** `key` rests if it exceeds its budget. */
  const fill = (
    text: string,
    variables: Variables,
    key: string
  ): Either.Either<ReadonlyArray<FilledPart>, MissingVariables | PromptTooLarge | TemplateFailed | Unavailable> => {
    const template = parse(text)
    if (Either.isLeft(template))
      return Either.left(template.left instanceof Unavailable ? template.left : failed(template.left))
    const filled = evaluate(key, (budget) => Liquid.fill(template.right, variables, { limit: limit_bytes, budget }))
    if (Either.isLeft(filled)) return Either.left(filled.left._tag === "TooSlow" ? failed(tooSlow) : filled.left)
    return Either.mapBoth(filled.right, {
      onLeft: refusalOf,
      // A filter may cut a character in half, or decode text that cannot be stored.
      onRight: (parts) => parts.map(storablePart)
    })
  }

  return { names, fill }
}
