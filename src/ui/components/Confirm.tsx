import { type FormEvent, type ReactNode, useState } from "react"
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components"
import { explain } from "../api/Errors.ts"
import { Button } from "./Button.tsx"
import { Field } from "./Field.tsx"
import { Note } from "./Note.tsx"

/** Over the page, holding the focus until it is answered; Escape is the way back. */
export const Over = ({
  title,
  onClose,
  alert,
  children
}: {
  readonly title: string
  /** Absent: there is no way back. */
  readonly onClose?: () => void
  readonly alert?: boolean
  readonly children: ReactNode
}) => (
  <ModalOverlay
    className="veil"
    isOpen
    isKeyboardDismissDisabled={!onClose}
    onOpenChange={(open) => !open && onClose?.()}
  >
    <Modal className="modal">
      <Dialog role={alert ? "alertdialog" : "dialog"}>
        <Heading slot="title" level={2}>
          {title}
        </Heading>
        {children}
      </Dialog>
    </Modal>
  </ModalOverlay>
)

/** Blanks as they look on a page, where several are one. */
const asRead = (text: string): string => text.replace(/\s+/g, " ").trim()

/** Asks before something that cannot be taken back; with `typed`, only when the text was typed. */
export const Confirm = ({
  title,
  children,
  action,
  harmless,
  typed,
  onConfirm,
  onClose,
  back = "Cancel"
}: {
  readonly title: string
  readonly children: ReactNode
  /** What the button says. */
  readonly action: string
  readonly harmless?: boolean
  readonly typed?: string
  readonly onConfirm: () => unknown
  readonly onClose: () => void
  readonly back?: string
}) => {
  const [text, setText] = useState("")
  const [pending, setPending] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const allowed = typed === undefined || asRead(text) === asRead(typed)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    // The dialog may stand inside another form, which must not be sent with it.
    event.stopPropagation()
    if (!allowed || pending) return
    setPending(true)
    setFailure(undefined)
    try {
      await onConfirm()
    } catch (error) {
      setFailure(error)
      setPending(false)
    }
  }
  return (
    <Over title={title} onClose={onClose} alert>
      <form className="stack" onSubmit={submit}>
        <div className="stack tight">{children}</div>
        {typed !== undefined && (
          <Field
            label={
              <>
                Type <bdi className="mono">{typed}</bdi> to confirm
              </>
            }
            value={text}
            onChange={setText}
            autoFocus
          />
        )}
        {failure !== undefined && <Note kind="error">{explain(failure).title}</Note>}
        <div className="row end">
          <Button onPress={onClose}>{back}</Button>
          <Button type="submit" look={harmless ? "primary" : "danger primary"} disabled={!allowed} pending={pending}>
            {action}
          </Button>
        </div>
      </form>
    </Over>
  )
}
