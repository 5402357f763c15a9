/** A request's address: for limits by address, the request log and audit events. */
import { isIP, isIPv6, SocketAddress } from "node:net"
import type { HttpServerRequest } from "effect/http"
import type { Networks } from "../../runtime/Networks.ts"
import { peerAddress } from "./TrustedProxies.ts"

/** Without its zone (`fe80::1%eth0`); an IPv4 address in IPv4 notation. */
export const plain = (address: string): string => address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "")

/** An entry of `X-Forwarded-For`: an address, for which some proxies add a port and, for IPv6, brackets. */
const addressIn = (entry: string): string | undefined => {
  const [, bracketed, named] = /^\s*(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(entry) ?? []
  const address = bracketed ?? named ?? entry.trim()
  return isIP(address) === 0 ? undefined : plain(address)
}

/**
 * The caller's address: the connection's peer or, if that is a trusted proxy, the last entry of `X-Forwarded-For` that
 * is not one. Entries before it come from the caller. `unknown` if the server does not know its peer.
 */
export const clientAddress = (proxies: Networks, request: HttpServerRequest.HttpServerRequest): string => {
  let address = plain(peerAddress(request))
  if (!proxies.contains(address)) return address
  const chain = (request.headers["x-forwarded-for"] ?? "").split(",")
  while (chain.length > 0 && proxies.contains(address)) {
    const before = addressIn(chain.pop()!)
    if (before === undefined) break
    address = before
  }
  return address
}

/**
 * The unit of limits by address: an IPv4 address, or the first 64 bits of an IPv6 address, since a single host may use
 * all of the rest.
 */
export const networkOf = (address: string): string => {
  if (!isIPv6(address)) return address
  const [head = "", tail] = new SocketAddress({ address, family: "ipv6" }).address.split("::")
  const groups = (part: string | undefined) => part?.split(":").filter((group) => group !== "") ?? []
  const [first, last] = [groups(head), groups(tail)]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0")
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`
}
