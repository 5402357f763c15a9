import { type FormEvent, type ReactNode, useState } from "react"
import { faultAt } from "../../api/Errors.ts"
import { Button } from "../Button.tsx"
import { Dialog } from "../Dialog.tsx"

/** A form that is sent once at a time. `fault` is its own objection, which is shown once the form was submitted. */
export const useForm = ({ fault, send }: { readonly fault?: string | undefined; readonly send: () => unknown }) => {
  const [submitted, setSubmitted] = useState(false)
  const [pending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  return {
    pending,
    /** The server's. */
    error,
    clearError: () => setError(undefined),
    /** The form's own fault, if it was submitted. */
    fault: submitted ? fault : undefined,
    /** The server's fault at one of these JSON Pointers. */
    faultAt: (...pointers: ReadonlyArray<string>): string | undefined =>
      pointers.map((pointer) => faultAt(error, pointer)).find((found) => found !== undefined),
    onSubmit: async (event: FormEvent) => {
      event.preventDefault()
      // The form may be in a dialog inside another form, which must not be submitted with it.
      event.stopPropagation()
      setSubmitted(true)
      if (fault !== undefined || pending) return
      setPending(true)
      setError(undefined)
      try {
        await send()
      } catch (cause) {
        setError(cause)
        setPending(false)
      }
    }
  }
}

/** A dialog with a form. */
export const FormDialog = ({
  title,
  action,
  cancel = "Cancel",
  variant = "primary",
  disabled = false,
  alert = false,
  form,
  onClose,
  children
}: {
  readonly title: string
  /** The text of the button that submits. */
  readonly action: string
  readonly cancel?: string
  readonly variant?: "primary" | "danger primary"
  readonly disabled?: boolean
  readonly alert?: boolean
  readonly form: ReturnType<typeof useForm>
  readonly onClose: () => void
  readonly children: ReactNode
}) => (
  <Dialog title={title} onClose={onClose} alert={alert}>
    <form className="stack" onSubmit={form.onSubmit}>
      {children}
      <div className="row end">
        <Button onPress={onClose}>{cancel}</Button>
        <Button type="submit" variant={variant} disabled={disabled} pending={form.pending}>
          {action}
        </Button>
      </div>
    </form>
  </Dialog>
)
