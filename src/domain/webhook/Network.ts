/** Addresses and networks in CIDR notation, as texts. Plain data: the web UI loads it. */

const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

/** As in URLs between brackets, without a zone. */
const isIPv6 = (text: string): boolean => {
  if (!/^[\da-f:.]+$/i.test(text) || !text.includes(":")) return false
  try {
    return new URL(`http://[${text}]`).hostname !== ""
  } catch {
    return false
  }
}

/** An address (`192.0.2.7`), or a network (`10.0.0.0/8`, `2001:db8::/32`). */
export const isNetwork = (text: string): boolean => {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const bits = ipv4.test(address) ? 32 : isIPv6(address) ? 128 : undefined
  return bits !== undefined && Number(prefix ?? 0) <= bits
}
