import { type FormEvent, useState } from "react"
import { Button } from "../../components/Button.tsx"
import { Dialog } from "../../components/Dialog.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { type Conflict, fieldLabel, type WebhookField, type WebhookTexts } from "./WebhookFields.ts"

type Side = "mine" | "theirs"

const sides: ReadonlyArray<readonly [Side, text: string]> = [
  ["mine", "Yours"],
  ["theirs", "Saved by someone else"]
]

/** Resolves edit conflicts: for each field, the user chooses which value to save. */
export const ConflictDialog = ({
  conflicts,
  onChoose,
  onClose
}: {
  readonly conflicts: ReadonlyArray<Conflict>
  /** Gets the chosen texts. */
  readonly onChoose: (texts: Partial<WebhookTexts>) => void
  readonly onClose: () => void
}) => {
  const [chosen, setChosen] = useState<Partial<Record<WebhookField, Side>>>({})
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // The dialog is inside the form that is being saved.
    event.stopPropagation()
    onChoose(Object.fromEntries(conflicts.map((each) => [each.field, each[chosen[each.field] ?? "mine"]])))
  }
  return (
    <Dialog title="Edit conflict" onClose={onClose} alert>
      <form className="stack" onSubmit={submit}>
        <p className="muted small">Someone else also edited these fields. Which version do you want to keep?</p>
        {conflicts.map(({ field, ...texts }) => (
          <fieldset key={field} className="stack tight">
            <legend className="label">{fieldLabel(field)}</legend>
            {sides.map(([side, text]) => (
              <label key={side} className="choice">
                <input
                  type="radio"
                  name={field}
                  checked={(chosen[field] ?? "mine") === side}
                  onChange={() => setChosen({ ...chosen, [field]: side })}
                />
                <span className="grow">
                  <span className="small muted">{text}</span>
                  <span className="rendered" dir="auto">
                    {showDirectionMarks(texts[side]) || "default"}
                  </span>
                </span>
              </label>
            ))}
          </fieldset>
        ))}
        <div className="row end">
          <Button onPress={onClose}>Back to the form</Button>
          <Button type="submit" variant="primary">
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
