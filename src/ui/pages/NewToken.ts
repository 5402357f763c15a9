import { useSyncExternalStore } from "react"
import type { WebhookWithToken } from "../api/Types.ts"

// In memory only, while its page is open: never in storage, an address or the browser's history.
let current: WebhookWithToken | undefined
const listeners = new Set<() => void>()
const set = (value: WebhookWithToken | undefined) => {
  current = value
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const setNewToken = (token: WebhookWithToken): void => set(token)
export const clearNewToken = (): void => set(undefined)

/** The webhook's token, right after it was created or regenerated. */
export const useNewToken = (webhook_id: string): WebhookWithToken | undefined => {
  const token = useSyncExternalStore(subscribe, () => current)
  return token?.webhook.id === webhook_id ? token : undefined
}
