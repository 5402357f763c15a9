import { type FormEvent, type ReactNode, useState } from "react"
import { explain } from "../api/Errors.ts"
import { Button } from "./Button.tsx"
import { Dialog } from "./Dialog.tsx"
import { TextField } from "./form/TextField.tsx"
import { Notice } from "./Notice.tsx"

/** A page shows several spaces as one, so they are compared as one. */
const collapseBlanks = (text: string): string => text.replace(/\s+/g, " ").trim()

/** Asks for confirmation. With `requiredText`, the user must type that text. */
export const ConfirmDialog = ({
  title,
  children,
  action,
  cancel = "Cancel",
  harmless,
  requiredText,
  onConfirm,
  onClose
}: {
  readonly title: string
  readonly children: ReactNode
  /** The text of the button that confirms. */
  readonly action: string
  readonly cancel?: string
  /** The action is not destructive. */
  readonly harmless?: boolean
  readonly requiredText?: string
  readonly onConfirm: () => unknown
  readonly onClose: () => void
}) => {
  const [text, setText] = useState("")
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const allowed = requiredText === undefined || collapseBlanks(text) === collapseBlanks(requiredText)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    // The dialog may be inside another form, which must not be submitted with it.
    event.stopPropagation()
    if (!allowed || pending) return
    setPending(true)
    setError(undefined)
    try {
      await onConfirm()
    } catch (cause) {
      setError(cause)
      setPending(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose} alert>
      <form className="stack" onSubmit={submit}>
        <div className="stack tight">{children}</div>
        {requiredText !== undefined && (
          <TextField
            label={
              <>
                Type <bdi className="mono">{requiredText}</bdi> to confirm
              </>
            }
            value={text}
            onChange={setText}
            autoFocus
          />
        )}
        {error !== undefined && <Notice tone="danger">{explain(error).title}</Notice>}
        <div className="row end">
          <Button onPress={onClose}>{cancel}</Button>
          <Button type="submit" variant={harmless ? "primary" : "danger primary"} disabled={!allowed} pending={pending}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
