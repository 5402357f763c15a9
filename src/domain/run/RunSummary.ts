import { Schema } from "effect"
import * as Json from "../Json.ts"
import { optional } from "../Time.ts"
import { Run, type RunRow, toRun } from "./Run.ts"

/** How much of a text lists show, in Unicode code points. */
export const shownLength = 1_000

const size = (of: string) => Schema.Finite.annotate({ description: `Of ${of}.` })

/** A run in lists. Texts may have megabytes, so a list has the beginning of each, and its length. */
export const RunSummary = Schema.Struct({
  ...Run.fields,
  truncated: Schema.Boolean.annotate({
    description: `Whether a text is longer than what is shown, ${shownLength} characters of each: the prompt, the response, the error's message, and the variables as JSON. \`GET /api/runs/:run_id\` shows the whole.`
  }),
  sizes: Schema.Struct({
    variables: size("the variables as JSON"),
    prompt: size("the rendered prompt"),
    response: optional(size("the response")),
    error: optional(size("the error's message"))
  }).annotate({ description: "How long the whole texts are, in bytes of UTF-8." })
}).annotate({
  identifier: "RunSummary",
  description: "A run as lists show it: its texts are cut when they are long."
})
export type RunSummary = typeof RunSummary.Type

/** A run's row with the beginnings of its texts, and the bytes of each. `variables` is JSON text, too. */
export interface SummaryRow extends Omit<RunRow, "variables"> {
  readonly variables: string
  readonly variables_size: number
  readonly prompt_size: number
  readonly response_size?: number
  readonly error_size?: number
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

export const toRunSummary = (row: SummaryRow): RunSummary => {
  const { variables, variables_size, prompt_size, response_size, error_size, ...rest } = row
  const isCut = (text: string | undefined, size: number | undefined) => size !== undefined && bytesOf(text ?? "") < size
  const variablesAreCut = isCut(variables, variables_size)
  return {
    ...toRun({
      ...rest,
      variables: variablesAreCut ? parseJsonPrefix(variables) : (Json.parse(variables) as RunRow["variables"])
    }),
    truncated:
      variablesAreCut ||
      isCut(row.prompt, prompt_size) ||
      isCut(row.response, response_size) ||
      isCut(row.error_message, error_size),
    sizes: {
      variables: variables_size,
      prompt: prompt_size,
      ...(response_size !== undefined && { response: response_size }),
      ...(error_size !== undefined && { error: error_size })
    }
  }
}

/** One token of JSON, or a string that does not end. */
const token = /\s*(?:([{[])|([}\]])|(,)|(:)|("(?:[^"\\]|\\u[0-9a-f]{4}|\\[^u])*)("?)|([^\s,:"[\]{}]+))/iy

/**
 * The object whose JSON begins with `json`, as far as it is known: the last string ends where `json` ends. An
 * incomplete number or word, and a name without a value, are left out.
 */
export const parseJsonPrefix = (json: string): Readonly<Record<string, unknown>> => {
  const open: Array<"}" | "]"> = []
  let isName = false
  let known = "{}"
  const knownUpTo = (end: number, rest = "") => {
    known = json.slice(0, end) + rest + open.toReversed().join("")
  }
  token.lastIndex = 0
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const [, opened, closed, comma, colon, text, quote, word] = match
    const end = token.lastIndex
    if (opened) {
      open.push(opened === "{" ? "}" : "]")
      isName = opened === "{"
      knownUpTo(end)
    } else if (closed) {
      open.pop()
      knownUpTo(end)
    } else if (comma) isName = open.at(-1) === "}"
    else if (colon) isName = false
    else if (text && !isName) knownUpTo(end, quote ? "" : '"')
    else if (word && end < json.length) knownUpTo(end)
    if (text && !quote) break
  }
  return Json.parse(known) as Readonly<Record<string, unknown>>
}
