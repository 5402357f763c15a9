import { ToggleButton } from "react-aria-components"
import type { Run } from "../../api/Types.ts"
import { SelectField } from "./SelectField.tsx"
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

/** The prompt of a replay. */
export type ReplayPrompt = "template" | "same"

export const PromptChoice = ({
  value,
  onChange
}: {
  readonly value: ReplayPrompt
  readonly onChange: (value: ReplayPrompt) => void
}) => (
  <SelectField
    label="Prompt"
    value={value}
    onChange={onChange}
    options={[
      ["template", "Render the current template"],
      ["same", "Same prompt as before"]
    ]}
  />
)

interface ThreadFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** The key of a thread. */
export const ThreadField = ({ help, ...field }: ThreadFieldProps & { readonly help: string }) => (
  <TextField label="Conversation (optional)" {...field} maxLength={500} help={help} />
)

export const ReplayThreadField = (field: ThreadFieldProps) => (
  <ThreadField
    {...field}
    help="The key of the conversation that the new run belongs to; without one, it stands alone"
  />
)

/** The thread of a replay, if it is not that of the run. */
export const threadOfReplay = ({ thread }: Run, typed: string): { readonly thread?: string | null } => {
  const key = typed.trim()
  return key === (thread?.key ?? "") ? {} : { thread: key === "" ? null : key }
}
