import { useState } from "react"
import type { Webhook } from "../../api/Types.ts"
import { loadLater } from "../../components/LoadedLater.tsx"

const SetupChecklist = loadLater(() => import("./SetupChecklist.tsx"))

const keyOf = ({ id }: Webhook): string => `webhook-trigger-setup-${id}`

/** Storage may be switched off; then a checklist is dismissed until the page is opened again. */
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
 * The checklist of a webhook that verifies its callers, while no request has been: it stays until it is closed or the page
 * is left, so that whoever waits for the first request sees it come. Another secret brings it back.
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
