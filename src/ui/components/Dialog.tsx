import type { ReactNode } from "react"
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components"

/** A modal dialog. Escape closes it. */
export const Dialog = ({
  title,
  onClose,
  alert,
  children
}: {
  readonly title: string
  /** Absent: it cannot be closed. */
  readonly onClose?: () => void
  readonly alert?: boolean
  readonly children: ReactNode
}) => (
  <ModalOverlay
    className="overlay"
    isOpen
    isKeyboardDismissDisabled={!onClose}
    onOpenChange={(open) => !open && onClose?.()}
  >
    <Modal className="modal">
      <AriaDialog role={alert ? "alertdialog" : "dialog"}>
        <Heading slot="title" level={2}>
          {title}
        </Heading>
        {children}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
)
