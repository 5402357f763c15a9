import { useState } from "react"
import type { Webhook } from "../../api/Types.ts"
import { loadLater } from "../../components/Loaded.tsx"

const SetupChecklist = loadLater(() => import("./SetupChecklist.tsx"))

const keyOf = ({ id }: Webhook): string => `webhook-trigger-setup-${id}`

/** Without storage, a dismissed checklist returns when the page is opened again. */
const isDismissed = (webhook: Webhook): boolean => {
  try {
    return localStorage.getItem(keyOf(webhook)) === webhook.secret_set_at
  } catch {
    return false
  }
}

const dismiss = (webhook: Webhook): void => {
  try {
    localStorage.setItem(keyOf(webhook), webhook.secret_set_at ?? "")
  } catch {
    // As above.
  }
}

/**
 * The setup checklist of a webhook without a verified request. It stays on the page after the first request. A new secret
 * shows it again.
 */
export const Setup = ({ webhook }: { readonly webhook: Webhook }) => {
  const [isShown, setIsShown] = useState(() => webhook.verified_at === undefined && !isDismissed(webhook))
  if (!isShown || webhook.verification === undefined) return null
  return (
    <SetupChecklist
      webhook={webhook}
      onDismiss={() => {
        dismiss(webhook)
        setIsShown(false)
      }}
    />
  )
}
