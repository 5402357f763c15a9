/** A mail server on this machine, which misbehaves as a test asks it to. Its certificate is its own authority. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { SMTPServer } from "smtp-server"

/** Of the host `localhost`, and its own authority. */
export const certificate = (() => {
  let made: { readonly key: string; readonly cert: string } | undefined
  return () => {
    if (made !== undefined) return made
    const dir = mkdtempSync(join(tmpdir(), "mail-"))
    const pair = ["-keyout", join(dir, "key.pem"), "-out", join(dir, "cert.pem")]
    const about = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...pair, ...about], { stdio: "ignore" })
    made = { key: readFileSync(join(dir, "key.pem"), "utf8"), cert: readFileSync(join(dir, "cert.pem"), "utf8") }
    rmSync(dir, { recursive: true })
    return made
  }
})()

export interface ReceivedMail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  /** The message: headers and body. */
  readonly raw: string
  readonly isSecure: boolean
  readonly user: string | undefined
}

/** A reply with this code, of the server to the message, or to a recipient. */
type Reply = number | undefined

const failure = (code: number) => Object.assign(new Error(`reply ${code}`), { responseCode: code })

export interface MailServerOptions {
  /** Default: STARTTLS. */
  readonly tls?: "implicit" | "starttls" | "off"
  /** Who may sign in. Default: nobody has to. */
  readonly login?: { readonly user: string; readonly password: string }
  /** To each message, one after the other, and then the last. Default: it is accepted. `hang`: none comes. */
  readonly replies?: ReadonlyArray<Reply | "hang">
  readonly replyTo?: (recipient: string) => Reply
}

export const mailServer = ({
  login,
  replies = [],
  replyTo = () => undefined,
  tls = "starttls"
}: MailServerOptions = {}) =>
  Effect.gen(function* () {
    const received: Array<ReceivedMail> = []
    let messages = 0
    const { cert, key } = certificate()
    const server = new SMTPServer({
      ...{ key, cert, secure: tls === "implicit", logger: false, authOptional: login === undefined },
      disabledCommands: [...(tls === "starttls" ? [] : ["STARTTLS"]), ...(login === undefined ? ["AUTH"] : [])],
      onAuth: ({ password, username }, _, done) =>
        username === login?.user && password === login?.password ? done(null, { user: username }) : done(failure(535)),
      onRcptTo: ({ address }, _, done) => {
        const code = replyTo(address)
        done(code === undefined ? null : failure(code))
      },
      onData: (stream, { envelope, secure, user }, done) => {
        const chunks: Array<Buffer> = []
        stream.on("data", (chunk: Buffer) => chunks.push(chunk))
        stream.on("end", () => {
          const reply = replies[Math.min(messages++, replies.length - 1)]
          received.push({
            from: envelope.mailFrom === false ? "" : envelope.mailFrom.address,
            to: envelope.rcptTo.map(({ address }) => address),
            raw: Buffer.concat(chunks).toString(),
            isSecure: secure,
            user: user as string | undefined
          })
          if (reply !== "hang") done(reply === undefined ? null : failure(reply))
        })
      }
    })
    server.on("error", () => {})
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)))
    )
    const { port } = server.server.address() as AddressInfo
    const credentials = login === undefined ? "" : `${login.user}:${encodeURIComponent(login.password)}@`
    const scheme = tls === "implicit" ? "smtps" : "smtp"
    return {
      ...{ port, received, ca: cert },
      url: `${scheme}://${credentials}localhost:${port}${tls === "off" ? "?tls=off" : ""}`
    }
  })

/** The message's header, unfolded. */
export const headerOf = ({ raw }: ReceivedMail, name: string): ReadonlyArray<string> => {
  const [head = ""] = raw.split("\r\n\r\n")
  return head
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n")
    .flatMap((line) =>
      line.toLowerCase().startsWith(`${name.toLowerCase()}:`) ? line.slice(name.length + 1).trim() : []
    )
}

/** The part of this type, as people see it. */
export const partOf = ({ raw }: ReceivedMail, type: "text/html" | "text/plain"): string => {
  const [, boundary = ""] = /boundary="([^"]+)"/.exec(raw) ?? []
  const part = raw.split(`--${boundary}`).find((one) => one.includes(`Content-Type: ${type}`)) ?? ""
  const [head = "", ...rest] = part.split("\r\n\r\n")
  const body = rest.join("\r\n\r\n")
  if (/base64/i.test(head)) return Buffer.from(body, "base64").toString()
  if (!/quoted-printable/i.test(head)) return body.trim()
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([\dA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, "latin1").toString().trim()
}
