/** Templates in Liquid, within a time that no template and no input can exceed. */
import { Either, Option } from "effect"
import { MissingVariables, PromptTooLarge, TemplateFailed } from "../domain/Errors.ts"
import * as Liquid from "../domain/Liquid.ts"
import type { Variables } from "../domain/Run.ts"
import { storable } from "../domain/StorableText.ts"
import type { BrokenBraces } from "../domain/Template.ts"
import { restAfter, withinTime } from "./TimeLimit.ts"

/** A filled template: text of it, a value, text, a value, …, text; and what stands in each value's place. */
export interface Filled {
  readonly names: ReadonlyArray<string>
  readonly pieces: ReadonlyArray<string>
}

/** What one step may take, such as a filter on a long text, in milliseconds: after it, V8 stops it wherever it is. */
const stepLimit = 1.25 * Liquid.renderLimit

/** Parsed templates in memory; those read first are dropped first. */
const capacity = 200

const tooSlow = {
  ...{ offset: 0, line: 1, column: 1 },
  reason: `this takes more than the ${stepLimit} ms that a part of a template may`
}

const isSlowFailure = (failure: Liquid.Failure | undefined): boolean =>
  failure?._tag === "Failed" && failure.limit === "time"

export const make = (limit_bytes: number) => {
  const parsed = new Map<string, Liquid.LiquidTemplate>()
  const restsUntil = new Map<string, number>()

  const parse = (text: string): Either.Either<Liquid.LiquidTemplate, BrokenBraces> => {
    const known = parsed.get(text)
    if (known !== undefined) return Either.right(known)
    const fresh = Option.getOrElse(
      withinTime(stepLimit, () => Liquid.parse(text)),
      () => Either.left(tooSlow)
    )
    if (Either.isRight(fresh)) {
      parsed.set(text, fresh.right)
      if (parsed.size > capacity) parsed.delete(parsed.keys().next().value!)
    }
    return fresh
  }

  /** What the template reads; or what is wrong with it, such as that it exceeds a limit in any case. */
  const names = (text: string): Either.Either<ReadonlyArray<string>, BrokenBraces> =>
    Either.flatMap(parse(text), (template) => {
      const excess = Option.getOrElse(
        withinTime(stepLimit, () => Liquid.exceeds(template), isSlowFailure),
        () => tooSlow
      )
      return excess === undefined ? Either.right(template.names) : Either.left(excess)
    })

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

  const fill = (
    text: string,
    variables: Variables
  ): Either.Either<Filled, MissingVariables | PromptTooLarge | TemplateFailed> => {
    if (restsUntil.size > 0) {
      if (performance.now() < (restsUntil.get(text) ?? 0)) {
        return Either.left(failed({ ...tooSlow, reason: "the template took too long a moment ago, and rests" }))
      }
      restsUntil.delete(text)
    }
    const template = parse(text)
    if (Either.isLeft(template)) return Either.left(failed(template.left))
    const filled = Option.getOrElse(
      withinTime(
        stepLimit,
        () => Liquid.fill(template.right, variables, limit_bytes),
        (filled) => Either.isLeft(filled) && isSlowFailure(filled.left)
      ),
      () => Either.left({ _tag: "Failed", limit: "time", ...tooSlow } as const)
    )
    if (Either.isLeft(filled) && isSlowFailure(filled.left))
      restsUntil.set(text, performance.now() + restAfter(stepLimit))
    return Either.mapBoth(filled, {
      onLeft: refusalOf,
      onRight: (pieces) => ({
        names: pieces.flatMap((_, at) => (at % 2 === 1 ? [`${(at + 1) / 2}`] : [])),
        // A filter may cut a character in half, or decode what cannot be stored.
        pieces: pieces.map(storable)
      })
    })
  }

  return { names, fill }
}
