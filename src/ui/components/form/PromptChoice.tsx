import { SelectField } from "./SelectField.tsx"

/** Which prompt a run is repeated with. */
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
      ["template", "From the template as it is now"],
      ["same", "The prompt as it was"]
    ]}
  />
)
