import type { ReactNode } from "react"
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from "react-aria-components"

/** A modal dialog. Escape closes it. */
export const Dialog = ({
  title,
  onClose,
  alert,
  kind,
  children
}: {
  readonly title: string
  /** Absent: it cannot be closed. */
  readonly onClose?: () => void
  readonly alert?: boolean
  /** `search`: at the top, with a hidden title. A click beside it closes it, too. */
  readonly kind?: "search"
  readonly children: ReactNode
}) => (
  <ModalOverlay
    className="overlay"
    isOpen
    isDismissable={kind === "search"}
    isKeyboardDismissDisabled={!onClose}
    onOpenChange={(open) => !open && onClose?.()}
  >
    <Modal className={["modal", kind].filter(Boolean).join(" ")}>
      <AriaDialog role={alert ? "alertdialog" : "dialog"}>
        <Heading slot="title" level={2}>
          {title}
        </Heading>
        {children}
      </AriaDialog>
    </Modal>
  </ModalOverlay>
)
