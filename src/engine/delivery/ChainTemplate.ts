/**
 * The template of a `chain`: a JSON object whose texts are Liquid templates. Each is filled in by itself, so no answer of an
 * agent can change the other fields.
 */

import { Effect, Predicate } from "effect"
import * as Json from "../../domain/Json.ts"

/** Maximum number of texts with placeholders. It bounds the time that filling them in takes. */
const maxTexts = 100

type Template = Readonly<Record<string, unknown>>

const valueOf = (text: string): unknown => {
  try {
    return Json.parse(text)
  } catch {
    return text
  }
}

const parse = (template: string): Template | undefined => {
  const value = valueOf(template)
  return Predicate.isReadonlyObject(value) ? value : undefined
}

const isFilledIn = (text: string): boolean => text.includes("{{") || text.includes("{%")

/** Such a placeholder makes a value of any type; others make a text. */
const isValue = (text: string): boolean => /^\{\{[^{}]*\|\s*json\s*\}\}$/.test(text)

const textsOf = (value: unknown, pointer = ""): ReadonlyArray<readonly [pointer: string, text: string]> => {
  if (typeof value === "string") return isFilledIn(value) ? [[pointer, value]] : []
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => textsOf(one, `${pointer}/${name}`))
}

const noObject =
  'must be a JSON object; placeholders may only be inside its texts, as in {"text": "{{ run.response }}"}'

/** @param faultOfText what is wrong with one text */
export const faultOf = <E, R>(
  template: string,
  faultOfText: (text: string) => Effect.Effect<string | undefined, E, R>
): Effect.Effect<string | undefined, E, R> =>
  Effect.gen(function* () {
    const json = parse(template)
    if (json === undefined) return noObject
    const texts = textsOf(json)
    if (texts.length > maxTexts) return `must have at most ${maxTexts} texts with placeholders`
    for (const [pointer, text] of texts) {
      const fault = yield* faultOfText(text)
      if (fault !== undefined) return `${pointer} ${fault}`
    }
    return undefined
  })

/** As JSON. */
export const fill = <E>(
  template: string,
  fillText: (text: string) => Effect.Effect<string, E>
): Effect.Effect<string, E> => {
  const filled = (value: unknown): Effect.Effect<unknown, E> => {
    if (typeof value === "string") {
      return isFilledIn(value) ? Effect.map(fillText(value), isValue(value) ? valueOf : String) : Effect.succeed(value)
    }
    if (Array.isArray(value)) return Effect.all(value.map(filled))
    if (!Predicate.isReadonlyObject(value)) return Effect.succeed(value)
    const entries = Object.entries(value).map(([name, one]) =>
      Effect.map(filled(one), (result) => [name, result] as const)
    )
    return Effect.map(Effect.all(entries), Object.fromEntries)
  }
  return Effect.map(filled(parse(template)), (value) => Json.stringify(value))
}
