import { ConfirmDialog } from "./ConfirmDialog.tsx"

/** Asks before a page is left that shows a new key. */
export const UnsavedKey = ({ cancel, confirm }: { readonly cancel: () => void; readonly confirm: () => void }) => (
  <ConfirmDialog
    title="Have you saved the key?"
    action="Yes, leave"
    cancel="Stay"
    harmless
    onClose={cancel}
    onConfirm={confirm}
  >
    <p>It cannot be shown again, because only its hash is stored. If you lose it, create another one.</p>
  </ConfirmDialog>
)
