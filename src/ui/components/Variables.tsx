import { ToggleButton } from "react-aria-components"
import { Field } from "./Field.tsx"

/** A variable while it is written: plain text, or JSON for everything that is not text. */
export interface Draft {
  readonly name: string
  readonly text: string
  readonly json: boolean
}

export type Variables = { readonly [name: string]: unknown }

/** Fields for the template's names, then for what else was sent, filled with the values where there are any. */
export const drafts = (names: ReadonlyArray<string>, values: Variables = {}): ReadonlyArray<Draft> =>
  // A name with dots may be given as an object: then the object has the field.
  [
    ...new Set([
      ...names.filter((name) => !Object.hasOwn(values, name.split(".")[0]!) || Object.hasOwn(values, name)),
      ...Object.keys(values)
    ])
  ].map((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : ""
    return typeof value === "string"
      ? { name, text: value, json: false }
      : { name, text: JSON.stringify(value, null, 2), json: true }
  })

/** The same fields for other names: what was written for a name that is still there stays. */
export const adapt = (before: ReadonlyArray<Draft>, names: ReadonlyArray<string>): ReadonlyArray<Draft> =>
  names.map((name) => before.find((draft) => draft.name === name) ?? { name, text: "", json: false })

export const faultOf = (draft: Draft): string | undefined => {
  if (!draft.json) return undefined
  try {
    JSON.parse(draft.text)
    return undefined
  } catch {
    return 'This is not JSON: write true, 3, null, "text", [1, 2] or {"a": 1}.'
  }
}

/** The values to send; none while one of them cannot be read. */
export const valuesOf = (all: ReadonlyArray<Draft>): Variables | undefined => {
  if (all.some((draft) => faultOf(draft) !== undefined)) return undefined
  // Made from entries, so that `__proto__` is a name like any other.
  return Object.fromEntries(all.map(({ name, text, json }) => [name, json ? JSON.parse(text) : text]))
}

export const VariableFields = ({
  all,
  onChange
}: {
  readonly all: ReadonlyArray<Draft>
  readonly onChange: (all: ReadonlyArray<Draft>) => void
}) => {
  if (all.length === 0) return <p className="muted small">The template has no variables.</p>
  const change = (name: string, part: Partial<Draft>) =>
    onChange(all.map((draft) => (draft.name === name ? { ...draft, ...part } : draft)))
  return (
    <div className="stack tight">
      {all.map((draft) => (
        <Field
          key={draft.name}
          area
          mono={draft.json}
          label={<bdi className="mono">{draft.name}</bdi>}
          value={draft.text}
          onChange={(text) => change(draft.name, { text })}
          fault={faultOf(draft)}
          beside={
            <ToggleButton
              className="json-switch"
              aria-label={`${draft.name} is JSON`}
              isSelected={draft.json}
              onChange={(json) => change(draft.name, { json })}
            >
              JSON
            </ToggleButton>
          }
        />
      ))}
    </div>
  )
}
