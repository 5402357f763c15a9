/** A webhook's `allow_from`: the addresses that may call it. */
import type { HttpServerRequest } from "@effect/platform"
import { Option } from "effect"
import type { WebhookRow } from "../../domain/webhook/Webhook.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { type Networks, parseNetworks } from "../request/TrustedProxies.ts"

/** Of the webhooks that are remembered, each of which is called more than once. */
const parsed = new WeakMap<WebhookRow, Networks>()

const networksOf = (webhook: WebhookRow, allow_from: ReadonlyArray<string>): Networks => {
  const known = parsed.get(webhook)
  if (known !== undefined) return known
  // What this server cannot read, it lets nobody pass by.
  const networks = Option.getOrElse(parseNetworks(allow_from), () => ({ contains: () => false }))
  parsed.set(webhook, networks)
  return networks
}

/** Whether the request comes from an address that may call the webhook. */
export const isAllowed = (
  proxies: Networks,
  webhook: WebhookRow,
  request: HttpServerRequest.HttpServerRequest
): boolean =>
  webhook.allow_from === undefined || networksOf(webhook, webhook.allow_from).contains(clientAddress(proxies, request))
