/** Values of a template's variables in a form. */
import * as Json from "../../../domain/Json.ts"
import { keyOf, pathOf } from "../../../domain/prompt/Path.ts"
import { ofKept } from "../../../domain/request/Payload.ts"
import type { SampleRequest } from "../../../domain/request/SampleRequest.ts"
import type { Variables } from "../../../domain/run/Run.ts"
import type { ReceivedRequest } from "../../api/Types.ts"

/** One variable. The text is the value itself, or JSON for other types than strings. */
export interface VariableInput {
  readonly name: string
  readonly text: string
  readonly json: boolean
}

/** An input for each of the template's names and for each further value, with the values. */
export const variableInputs = (names: ReadonlyArray<string>, values: Variables = {}): ReadonlyArray<VariableInput> =>
  // A name with dots may be part of an object, which then has the input.
  [
    ...new Set([
      ...names
        .filter((name) => !Object.hasOwn(values, pathOf(name)[0]) || Object.hasOwn(values, keyOf(name)))
        .map(keyOf),
      ...Object.keys(values)
    ])
  ].map((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : ""
    return typeof value === "string"
      ? { name, text: value, json: false }
      : { name, text: Json.stringify(value, 2), json: true }
  })

/** Inputs for these names. Text already typed for a name is preserved. */
export const renameInputs = (
  inputs: ReadonlyArray<VariableInput>,
  names: ReadonlyArray<string>
): ReadonlyArray<VariableInput> =>
  [...new Set(names.map(keyOf))].map(
    (name) => inputs.find((input) => input.name === name) ?? { name, text: "", json: false }
  )

/** Inputs for the parts of a whole request. Text already typed is preserved. */
export const requestInputs = (inputs: ReadonlyArray<VariableInput> = []): ReadonlyArray<VariableInput> =>
  ["payload", "headers", "query"].map(
    (name) => inputs.find((input) => input.name === name) ?? { name, text: "{}", json: true }
  )

/** An input with the value as JSON. */
export const jsonInput = (name: string, value: unknown): VariableInput => ({
  name,
  text: Json.stringify(value, 2),
  json: true
})

/** Inputs for the parts of a sample request. */
export const inputsOfSample = ({ body, headers, query }: SampleRequest): ReadonlyArray<VariableInput> => [
  jsonInput("payload", body),
  jsonInput("headers", headers),
  jsonInput("query", query)
]

/** Inputs for the parts of a stored request. */
export const inputsOfRequest = (request: ReceivedRequest): ReadonlyArray<VariableInput> => [
  jsonInput("payload", ofKept(request)),
  jsonInput("headers", request.headers ?? {}),
  jsonInput("query", request.query ?? {})
]

export const inputFault = (input: VariableInput): string | undefined => {
  if (!input.json) return undefined
  try {
    Json.parse(input.text)
    return undefined
  } catch {
    return 'This is not valid JSON. Examples: true, 3, null, "text", [1, 2], {"a": 1}.'
  }
}

/** The names without a value, except those that are also empty in `values`. */
export const emptyNames = (inputs: ReadonlyArray<VariableInput>, values: Variables = {}): ReadonlyArray<string> =>
  inputs
    .filter(({ name, text, json }) => !json && text === "" && !(Object.hasOwn(values, name) && values[name] === ""))
    .map(({ name }) => name)

/** The values to send; `undefined` if one of them is not valid JSON. */
export const valuesOf = (inputs: ReadonlyArray<VariableInput>): Variables | undefined => {
  if (inputs.some((input) => inputFault(input) !== undefined)) return undefined
  // Built from entries, so that `__proto__` is an ordinary name.
  return Object.fromEntries(inputs.map(({ name, text, json }) => [name, json ? Json.parse(text) : text]))
}
