/** The values of a template's variables while they are typed. */
import { keyOf, pathOf } from "../../../domain/prompt/Path.ts"
import { ofKept } from "../../../domain/request/Payload.ts"
import type { Variables } from "../../../domain/run/Run.ts"
import type { ReceivedRequest } from "../../api/Types.ts"

/** One variable: its text is the value itself, or JSON for a value that is not a string. */
export interface VariableInput {
  readonly name: string
  readonly text: string
  readonly json: boolean
}

/** An input for each of the template's names and for each further value, filled in with the values. */
export const variableInputs = (names: ReadonlyArray<string>, values: Variables = {}): ReadonlyArray<VariableInput> =>
  // A name with dots may be supplied inside an object, which then has the input.
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
      : { name, text: JSON.stringify(value, null, 2), json: true }
  })

/** Inputs for these names; what was typed for a name is preserved. */
export const renameInputs = (
  inputs: ReadonlyArray<VariableInput>,
  names: ReadonlyArray<string>
): ReadonlyArray<VariableInput> =>
  [...new Set(names.map(keyOf))].map(
    (name) => inputs.find((input) => input.name === name) ?? { name, text: "", json: false }
  )

/** Inputs for the parts of a whole request, to be pasted; what was typed for one is preserved. */
export const requestInputs = (inputs: ReadonlyArray<VariableInput> = []): ReadonlyArray<VariableInput> =>
  ["payload", "headers", "query"].map(
    (name) => inputs.find((input) => input.name === name) ?? { name, text: "{}", json: true }
  )

/** An input whose text is the value's JSON. */
export const jsonInput = (name: string, value: unknown): VariableInput => ({
  name,
  text: JSON.stringify(value, null, 2),
  json: true
})

/** Inputs for the parts of a request as it was kept. */
export const inputsOfRequest = (request: ReceivedRequest): ReadonlyArray<VariableInput> => [
  jsonInput("payload", ofKept(request)),
  jsonInput("headers", request.headers ?? {}),
  jsonInput("query", request.query ?? {})
]

export const inputFault = (input: VariableInput): string | undefined => {
  if (!input.json) return undefined
  try {
    JSON.parse(input.text)
    return undefined
  } catch {
    return 'This is not valid JSON. Examples: true, 3, null, "text", [1, 2], {"a": 1}.'
  }
}

/** The names that have no value, apart from those that had none in `values` either. */
export const emptyNames = (inputs: ReadonlyArray<VariableInput>, values: Variables = {}): ReadonlyArray<string> =>
  inputs
    .filter(({ name, text, json }) => !json && text === "" && !(Object.hasOwn(values, name) && values[name] === ""))
    .map(({ name }) => name)

/** The values to send; `undefined` while one of them is not valid JSON. */
export const valuesOf = (inputs: ReadonlyArray<VariableInput>): Variables | undefined => {
  if (inputs.some((input) => inputFault(input) !== undefined)) return undefined
  // Built from entries, so that `__proto__` is a name like any other.
  return Object.fromEntries(inputs.map(({ name, text, json }) => [name, json ? JSON.parse(text) : text]))
}
