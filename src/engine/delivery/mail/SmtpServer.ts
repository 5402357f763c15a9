/** The operator's mail server, as the settings name it. */
import { isIP } from "node:net"
import { Option } from "effect"
import { domain, isEmailAddress } from "../../../domain/delivery/EmailAddress.ts"

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** `implicit`: from the start. `starttls`: required before anything else is said. `off`: for a relay on the same machine. */
  readonly tls: "implicit" | "starttls" | "off"
  readonly login?: { readonly user: string; readonly password: string }
}

/** The address that messages come from. */
export interface Sender {
  readonly name: string
  readonly address: string
}

const decoded = Option.liftThrowable(decodeURIComponent)

/** `smtps://user:password@host:465`, or `smtp://…` with STARTTLS. A password is never sent without TLS. */
export const parseSmtpUrl = (text: string): Option.Option<SmtpServer> =>
  Option.gen(function* () {
    const url = yield* Option.liftThrowable((given: string) => new URL(given))(text)
    const { hash, hostname, password, pathname, port, protocol, search, username } = url
    const host = hostname.replace(/^\[(.*)\]$/, "$1")
    const isHost = isIP(host) !== 0 || domain.test(host)
    const isKnown = (protocol === "smtp:" || protocol === "smtps:") && isHost && hash === ""
    if (!isKnown || !["", "/"].includes(pathname)) return yield* Option.none()
    if (search !== "" && !(search === "?tls=off" && protocol === "smtp:")) return yield* Option.none()
    const tls = protocol === "smtps:" ? "implicit" : search === "" ? "starttls" : "off"
    if ((username === "") !== (password === "") || (tls === "off" && username !== "")) return yield* Option.none()
    const login = { user: yield* decoded(username), password: yield* decoded(password) }
    return {
      host,
      port: port === "" ? (tls === "implicit" ? 465 : tls === "starttls" ? 587 : 25) : Number(port),
      tls,
      ...(username !== "" && { login })
    }
  })

/** `ops@example.com`, or `Webhooks <ops@example.com>`. */
export const parseSender = (text: string): Option.Option<Sender> => {
  const [, name = "", inBrackets, alone] = /^(?:([^<>"@\p{Cc}]{1,100})?<([^<>]+)>|([^<>]+))$/u.exec(text.trim()) ?? []
  const address = inBrackets ?? alone ?? ""
  return isEmailAddress(address) ? Option.some({ name: name.trim(), address }) : Option.none()
}

export const senderText = ({ address, name }: Sender): string => (name === "" ? address : `${name} <${address}>`)
