/**
 * The proxies whose `X-Forwarded-*` headers are believed. Anyone can send such headers, so those of other peers are
 * ignored.
 */
import { Context, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type Networks, noNetworks, toNetworks } from "../../runtime/Networks.ts"

type Request = HttpServerRequest.HttpServerRequest

/** None unless the operator names them. */
export class TrustedProxies extends Context.Reference("webhook-trigger/TrustedProxies", {
  defaultValue: (): Networks => noNetworks
}) {
  /** Addresses and networks in CIDR notation, such as `["10.0.0.0/8", "::1"]`. Throws if one is neither. */
  static readonly layer = (networks: ReadonlyArray<string>): Layer.Layer<never> =>
    Layer.sync(TrustedProxies, () => toNetworks(networks))
}

/** The connection's peer: a caller, or the nearest proxy. */
export const peerAddress = ({ remoteAddress }: Request): string => Option.getOrElse(remoteAddress, () => "unknown")

/** The first value of a header that only a trusted proxy can have set, as reported by the outermost one. */
export const forwarded = (proxies: Networks, request: Request, name: "proto" | "host"): string | undefined => {
  const value = request.headers[`x-forwarded-${name}`]
  if (value === undefined || !proxies.contains(peerAddress(request))) return undefined
  return value.split(",", 1)[0]!.trim().toLowerCase() || undefined
}
