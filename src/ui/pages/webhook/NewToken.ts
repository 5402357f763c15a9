import { pathTo } from "../../../api/Pages.ts"
import type { WebhookWithToken } from "../../api/Types.ts"
import { makeStore } from "../../frame/Store.ts"

/** The token of a webhook with its own URL. */
export type NewToken = Required<WebhookWithToken>

// Only in memory while its page is open; never in storage, an address or the browser's history.
interface New {
  readonly webhook_id: string
  readonly token?: NewToken
  /** The secret, if it was generated here. */
  readonly secret?: string | undefined
}

const current = makeStore<New | undefined>(undefined)

/** A webhook that shares another one's URL has none. */
export const setNewToken = ({ token, trigger_url, webhook }: WebhookWithToken, secret?: string): void => {
  if (token === undefined || trigger_url === undefined) return
  current.set({ webhook_id: webhook.id, token: { token, trigger_url, webhook }, secret })
}
/** The URL stays as it is, and may have been shown just now. */
export const setNewSecret = ({ id }: { readonly id: string }, secret: string): void => {
  const before = current.get()
  current.set({ ...(before?.webhook_id === id && before), webhook_id: id, secret })
}
export const clearNewToken = (): void => current.set(undefined)

const useNew = (webhook_id: string): New | undefined => {
  const value = current.use()
  return value?.webhook_id === webhook_id ? value : undefined
}

/** The page of a new webhook: its token, if it has one. */
export const pageOfNew = ({ token, webhook }: WebhookWithToken): string =>
  pathTo(token === undefined ? "webhook" : "callWebhook", webhook)

/** The token right after the webhook was created or its token regenerated. */
export const useNewToken = (webhook_id: string): NewToken | undefined => useNew(webhook_id)?.token

/** The generated secret right after it was saved. */
export const useNewSecret = (webhook_id: string): string | undefined => useNew(webhook_id)?.secret
