import { SelectField } from "./SelectField.tsx"

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
