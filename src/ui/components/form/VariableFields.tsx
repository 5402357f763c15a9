import { ToggleButton } from "react-aria-components"
import { TextField } from "./TextField.tsx"
import { inputFault, type VariableInput } from "./VariableInput.ts"

export const VariableFields = ({
  inputs,
  onChange
}: {
  readonly inputs: ReadonlyArray<VariableInput>
  readonly onChange: (inputs: ReadonlyArray<VariableInput>) => void
}) => {
  if (inputs.length === 0) return <p className="muted small">The template has no variables.</p>
  const change = (name: string, part: Partial<VariableInput>) =>
    onChange(inputs.map((input) => (input.name === name ? { ...input, ...part } : input)))
  return (
    <div className="stack tight">
      {inputs.map((input) => (
        <TextField
          key={input.name}
          multiline
          mono={input.json}
          label={<bdi className="mono">{input.name}</bdi>}
          value={input.text}
          onChange={(text) => change(input.name, { text })}
          fault={inputFault(input)}
          labelEnd={
            <ToggleButton
              className="json-switch"
              aria-label={`${input.name} is JSON`}
              isSelected={input.json}
              onChange={(json) => change(input.name, { json })}
            >
              JSON
            </ToggleButton>
          }
        />
      ))}
    </div>
  )
}
