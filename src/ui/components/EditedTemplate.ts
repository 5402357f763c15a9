/** A template while it is typed. The server reads it with the same code. */
import { Either } from "effect"
import { useEffect, useMemo, useState } from "react"
import type { Variables } from "../../domain/Run.ts"
import { type BrokenBraces, fill, names, parse, type Template } from "../../domain/Template.ts"

type Liquid = typeof import("../../domain/Liquid.ts")

/** The prompt in pieces, every second one a value; or why there is none. */
export type Filled = { readonly pieces: ReadonlyArray<string> } | { readonly reason: string }

export interface EditedTemplate {
  readonly names: ReadonlyArray<string>
  readonly broken?: BrokenBraces
  /** With its placeholders' places; of the simple language. */
  readonly simple?: Template
  /** Absent while it is broken, or its language is not there yet. */
  readonly fill?: (values: Variables) => Filled
}

const without = (missing: ReadonlyArray<string>): Filled => ({ reason: `Without a value: ${missing.join(", ")}.` })

const ofSimple = (text: string): EditedTemplate =>
  Either.match(parse(text), {
    onLeft: (broken): EditedTemplate => ({ names: [], broken }),
    onRight: (template) => ({
      names: names(template),
      simple: template,
      fill: (values) =>
        Either.match(fill(template, values), { onLeft: without, onRight: (pieces): Filled => ({ pieces }) })
    })
  })

/** As much as a prompt may be. */
const maxPrompt = 256 * 1024

const ofLiquid = (liquid: Liquid, text: string): EditedTemplate =>
  Either.match(liquid.parse(text), {
    onLeft: (broken): EditedTemplate => ({ names: [], broken }),
    onRight: (template) => ({
      names: template.names,
      fill: (values) =>
        Either.match(liquid.fill(template, values, maxPrompt), {
          onLeft: (failure): Filled =>
            failure._tag === "Missing"
              ? without(failure.names)
              : { reason: failure._tag === "TooLong" ? "The prompt is too large." : `${failure.reason}.` },
          onRight: (pieces): Filled => ({ pieces })
        })
    })
  })

/** The language's code is loaded when a webhook uses it. */
const useLiquid = (isUsed: boolean): Liquid | undefined => {
  const [liquid, setLiquid] = useState<Liquid>()
  useEffect(() => {
    if (isUsed) void import("../../domain/Liquid.ts").then(setLiquid)
  }, [isUsed])
  return isUsed ? liquid : undefined
}

/** `language`: the webhook's `template_language`; empty for the default. */
export const useTemplate = (text: string, language: string): EditedTemplate => {
  const isLiquid = language === "liquid"
  const liquid = useLiquid(isLiquid)
  return useMemo(() => {
    if (!isLiquid) return ofSimple(text)
    return liquid === undefined ? { names: [] } : ofLiquid(liquid, text)
  }, [text, isLiquid, liquid])
}
