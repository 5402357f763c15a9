import { useSyncExternalStore } from "react"
import type { WebhookWithToken } from "../../api/Types.ts"

// Only in memory while its page is open; never in storage, an address or the browser's history.
interface New {
  readonly token: WebhookWithToken
  /** The secret, if it was generated here. */
  readonly secret?: string | undefined
}

let current: New | undefined
const listeners = new Set<() => void>()
const set = (value: New | undefined) => {
  current = value
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const setNewToken = (token: WebhookWithToken, secret?: string): void => set({ token, secret })
export const clearNewToken = (): void => set(undefined)

const useNew = (webhook_id: string): New | undefined => {
  const value = useSyncExternalStore(subscribe, () => current)
  return value?.token.webhook.id === webhook_id ? value : undefined
}

/** The token right after the webhook was created or its token regenerated. */
export const useNewToken = (webhook_id: string): WebhookWithToken | undefined => useNew(webhook_id)?.token

/** The generated secret right after the webhook was created. */
export const useNewSecret = (webhook_id: string): string | undefined => useNew(webhook_id)?.secret
