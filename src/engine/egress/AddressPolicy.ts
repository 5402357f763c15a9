/** Where this server may send requests: to public addresses only, unless the operator allows more (`CALLBACK_ALLOW`). */
import { isIP, type LookupFunction } from "node:net"
import { Context, Effect, Layer, Option } from "effect"
import ipaddr from "ipaddr.js"
import { isNetwork } from "../../domain/webhook/Network.ts"
import { type Networks, noNetworks, toNetworks } from "../../runtime/Networks.ts"
import { remembered } from "../../runtime/Remembered.ts"
import { byNameServers, bySystem, type Resolve } from "./Resolver.ts"

/** The hosts and networks that the operator allows besides public addresses. */
export interface Allowed {
  /** Host names, such as `hooks.internal`; `*.internal` has all below it. They may have any address, and be called by http. */
  readonly hosts: ReadonlyArray<string>
  /** Addresses and networks, such as `10.0.0.0/8`. */
  readonly networks: ReadonlyArray<string>
}

const hostPattern = /^(\*\.)?([a-z\d_]([a-z\d_-]{0,61}[a-z\d])?\.)*[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/

/** Host names, addresses and networks, separated by commas; none when one of them is not valid. */
export const parseAllowed = (text: string): Option.Option<Allowed> => {
  const parts = text.split(",").map((part) => part.trim().toLowerCase())
  const networks = parts.filter(isNetwork)
  const hosts = parts.filter((part) => !isNetwork(part))
  return hosts.every((host) => hostPattern.test(host)) ? Option.some({ hosts, networks }) : Option.none()
}

/** The part of IPv6 that IANA has assigned for global unicast (RFC 4291, 2.4). */
const global = toNetworks(["2000::/3"])

/** Whether anyone on the Internet can have the address: not private, local, reserved, or a way to such an IPv4 address. */
const isPublic = (address: string): boolean => {
  if (!ipaddr.isValid(address) || address.includes("%")) return false
  const parsed = ipaddr.process(address)
  return parsed.range() === "unicast" && (parsed.kind() === "ipv4" || global.contains(address))
}

/** A host as people write it in lists. */
const nameOf = (hostname: string): string => hostname.toLowerCase().replace(/\.$/, "")

/** As `new URL` gives it: in lower case, IPv4 in four decimal parts, IPv6 in brackets. */
const literalOf = (hostname: string): string | undefined => {
  const address = hostname.replace(/^\[(.*)\]$/, "$1")
  return isIP(address) === 0 ? undefined : address
}

export interface AddressPolicyService {
  /** Why no request may be sent to the URL; `undefined`: that depends on the addresses that its host has. */
  readonly faultOf: (url: URL) => string | undefined
  /** The same, with the addresses that the host has now. Without an answer from the name servers, the connection decides. */
  readonly check: (url: URL) => Effect.Effect<string | undefined>
  /** For `http.request`: finds only addresses that a request may be sent to, and so decides as the connection is made. */
  readonly lookup: LookupFunction
}

/** No host can be named more cleverly than as its address, and no name that changes its address is asked twice. */
export class AddressPolicy extends Context.Reference("webhook-trigger/AddressPolicy", {
  defaultValue: (): AddressPolicyService => make({ hosts: [], networks: [] })
}) {
  static readonly layer = (allowed: Option.Option<Allowed>, resolve?: Resolve): Layer.Layer<never> =>
    Layer.sync(AddressPolicy, () =>
      make(
        Option.getOrElse(allowed, () => ({ hosts: [], networks: [] })),
        resolve
      )
    )
}

/** @param resolve finds the addresses of every name; for tests */
export const make = ({ hosts, networks }: Allowed, resolve?: Resolve): AddressPolicyService => {
  const allowed: Networks = networks.length === 0 ? noNetworks : toNetworks(networks)
  const asked = { bySystem: resolve ?? bySystem(), byNameServers: resolve ?? byNameServers() }
  const isNamed = (hostname: string) =>
    hosts.some((host) => (host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host))
  const isAllowed = (address: string) => isPublic(address) || allowed.contains(address)

  const faultOf = ({ hostname, password, protocol, username }: URL): string | undefined => {
    const literal = literalOf(hostname)
    const name = nameOf(hostname)
    if (protocol !== "https:" && protocol !== "http:") return "must be an https URL"
    if (username !== "" || password !== "") return "must not contain a user or a password; use `headers`"
    if (literal !== undefined && !isAllowed(literal)) return notPublic
    const isOpened = isNamed(name) || (literal !== undefined && allowed.contains(literal))
    if (protocol === "http:" && !isOpened) return "must be an https URL, or have a host that CALLBACK_ALLOW names"
    if (!isOpened && literal === undefined && isLocalName(name)) return notPublic
    return undefined
  }

  /** The name's addresses, and which may be used. Only names that the operator knows are looked up by the system. */
  const addressesOf = async (hostname: string) => {
    const name = nameOf(hostname)
    const found = await (isNamed(name) ? asked.bySystem : asked.byNameServers)(hostname)
    return { found, usable: isNamed(name) ? found : found.filter(isAllowed) }
  }

  const check = (url: URL) =>
    Effect.gen(function* () {
      const fault = faultOf(url)
      if (fault !== undefined || literalOf(url.hostname) !== undefined) return fault
      const none = { found: [], usable: [] }
      const lookedUp = Effect.promise(() => addressesOf(url.hostname).catch(() => none))
      const { found, usable } = yield* remembered(() => `addresses of ${url.hostname}`, lookedUp)
      return found.length > 0 && usable.length === 0 ? `${notPublic}; ${url.hostname} has ${found[0]}` : undefined
    })

  const lookup: LookupFunction = (hostname, options, callback) => {
    const answer = (addresses: ReadonlyArray<string>) => {
      const usable = addresses.map((address) => ({ address, family: isIP(address) }))
      const [first] = usable
      if (first === undefined) return callback(new Error(`${hostname} ${notPublic}`), "", 0)
      if (options.all === true) return callback(null, usable)
      callback(null, first.address, first.family)
    }
    addressesOf(hostname).then(
      ({ usable }) => answer(usable),
      (error) => callback(error, "", 0)
    )
  }

  return { faultOf, check, lookup }
}

const notPublic = "must have a public address, or one that CALLBACK_ALLOW allows"

/** Names that never are on the Internet (RFC 6761, RFC 6762 and names without a dot). */
const isLocalName = (name: string): boolean =>
  !name.includes(".") || /\.(localhost|local|localdomain|internal|home\.arpa|invalid|test|example)$/.test(name)
