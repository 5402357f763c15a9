/** How a template names a value. Browser-safe. */
import { isIndex, nameOf } from "./Path.ts"

const isLiquidName = /^[A-Za-z_][\w-]*$/

/** Texts in Liquid have no escapes, but two kinds of quotes. */
const inLiquidQuotes = (name: string): string => (name.includes('"') ? `'${name}'` : `"${name}"`)

const liquidName = ([first, ...rest]: ReadonlyArray<string>): string =>
  [
    first,
    ...rest.map((step) =>
      isIndex.test(step) ? `[${step}]` : isLiquidName.test(step) ? `.${step}` : `[${inLiquidQuotes(step)}]`
    )
  ].join("")

/** The placeholder for the value at this path, in the template's language. */
export const placeholderAt = (path: ReadonlyArray<string>, language: "simple" | "liquid"): string =>
  language === "liquid" ? `{{ ${liquidName(path)} }}` : `{{${nameOf(path)}}}`
