/** Sets of addresses and networks. */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net"
import { Option } from "effect"

/** A set of addresses; an IPv4 address is the same in IPv6 notation (`::ffff:10.0.0.1`). */
export interface Networks {
  readonly contains: (address: string) => boolean
}

export const noNetworks: Networks = { contains: () => false }

/** Adds an address (`10.0.0.1`) or a network (`10.0.0.0/8`, `fd00::/8`); false when it is neither. */
const add = (list: BlockList, text: string): boolean => {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0 || address.includes("%")) return false
  const bits = version === 4 ? 32 : 128
  if (Number(prefix ?? 0) > bits) return false
  list.addSubnet(address, Number(prefix ?? bits), version === 4 ? "ipv4" : "ipv6")
  return true
}

/** The networks in CIDR notation; none when one of them is not valid. */
export const parseNetworks = (texts: ReadonlyArray<string>): Option.Option<Networks> => {
  if (texts.length === 0) return Option.some(noNetworks)
  const list = new BlockList()
  const contains = (address: string) =>
    isIPv4(address) ? list.check(address, "ipv4") : isIPv6(address) && list.check(address, "ipv6")
  return texts.every((text) => add(list, text)) ? Option.some({ contains }) : Option.none()
}

/** The same for networks that were already checked; throws if one is not valid. */
export const toNetworks = (texts: ReadonlyArray<string>): Networks =>
  Option.getOrThrowWith(parseNetworks(texts), () => new Error(`Not all are networks: ${texts.join(", ")}`))
