import { type ReactNode, useState } from "react"
import { explain } from "../api/Errors.ts"
import { FormDialog, useForm } from "./form/FormDialog.tsx"
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
  const isTyped = requiredText === undefined || collapseBlanks(text) === collapseBlanks(requiredText)
  const form = useForm({ fault: isTyped ? undefined : "The text differs.", send: onConfirm })
  return (
    <FormDialog
      title={title}
      action={action}
      cancel={cancel}
      variant={harmless ? "primary" : "danger primary"}
      disabled={!isTyped}
      alert
      form={form}
      onClose={onClose}
    >
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
      {form.error !== undefined && <Notice tone="danger">{explain(form.error).title}</Notice>}
    </FormDialog>
  )
}
