import { isIPv4, isIPv6 } from "node:net"
import { Option, Schema } from "effect"
import type { Format } from "../settings/EnvironmentVariable.ts"
import { fromText } from "../settings/Quantity.ts"

export interface ListenAddress {
  /** An address or name of this machine. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** Reachable only from this machine. */
export const defaultHost = "127.0.0.1"

/** As written in a URL. */
export const toText = ({ host, port }: ListenAddress): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** A host name, an IPv4 address, or an IPv6 address in brackets. */
const parseHost = (text: string): string | undefined => {
  const [, ipv6] = /^\[(.+)\]$/.exec(text) ?? []
  if (ipv6 !== undefined) return isIPv6(ipv6) ? ipv6 : undefined
  return isIPv4(text) || /^(?=.*[a-z])[a-z\d-]+(\.[a-z\d-]+)*$/i.test(text) ? text : undefined
}

const parse = (text: string): Option.Option<ListenAddress> => {
  const [, given = defaultHost, digits = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  const host = parseHost(given)
  const port = Number(digits)
  return digits === "" || port > 65_535 || host === undefined ? Option.none() : Option.some({ host, port })
}

export const format: Format<ListenAddress> = {
  accepts: `takes an address and a port such as \`10.0.0.5:9090\` or \`[fd00::5]:9090\`, or only a port for ${defaultHost}, from 0 to 65535 (0: any free port)`,
  schema: fromText(Schema.Struct({ host: Schema.String, port: Schema.Number }), parse, toText)
}

const isOfThisMachine = new Set([defaultHost, "::1", "0.0.0.0", "::"])

/** The server's URL from this machine. */
export const urlOf = ({ host, port }: ListenAddress): string =>
  `http://${toText({ host: isOfThisMachine.has(host) ? "localhost" : host, port })}`
