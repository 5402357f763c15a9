import { useSyncExternalStore } from "react"
import type { FreshToken } from "../api/Types.ts"

// In memory only, for as long as the page shows it: never in storage, an address or the history.
let fresh: FreshToken | undefined
const listeners = new Set<() => void>()
const set = (value: FreshToken | undefined) => {
  fresh = value
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const keepToken = (token: FreshToken): void => set(token)
export const forgetToken = (): void => set(undefined)

/** The token of this webhook, when it has just been made. */
export const useFreshToken = (webhook_id: string): FreshToken | undefined => {
  const token = useSyncExternalStore(subscribe, () => fresh)
  return token?.webhook.id === webhook_id ? token : undefined
}
