/** A webhook's `allow_from`: the addresses that may call it. */
import type { HttpServerRequest } from "@effect/platform"
import { Option } from "effect"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { type Networks, noNetworks, parseNetworks } from "../../runtime/Networks.ts"
import { clientAddress } from "../request/ClientAddress.ts"

/** Webhooks in memory: each is called more than once. */
const parsed = new WeakMap<WebhookRow, Networks>()

const networksOf = (webhook: WebhookRow, allow_from: ReadonlyArray<string>): Networks => {
  const known = parsed.get(webhook)
  if (known !== undefined) return known
  // An invalid entry lets nobody in.
  const networks = Option.getOrElse(parseNetworks(allow_from), () => noNetworks)
  parsed.set(webhook, networks)
  return networks
}

/** Whether the request's address may call the webhook. */
export const isAllowed = (
  proxies: Networks,
  webhook: WebhookRow,
  request: HttpServerRequest.HttpServerRequest
): boolean =>
  webhook.allow_from === undefined || networksOf(webhook, webhook.allow_from).contains(clientAddress(proxies, request))
