/** A webhook that only listens: its URL is there before anyone knows what comes. Browser-safe. */
import type { SettingValues } from "./WebhookSettings.ts"

/** It takes requests of any form, keeps them for people to look at, and starts no run. */
export const listeningSettings = {
  input: "payload",
  accept_if: "`false`",
  store_requests: "all"
} as const satisfies Partial<SettingValues>

export const isListening = ({ accept_if }: Pick<Partial<SettingValues>, "accept_if">): boolean =>
  accept_if?.trim() === listeningSettings.accept_if
