/** Sends e-mails by the operator's mail server: a connection for each, which ends with the attempt. */
import { Context, Duration, Effect, Layer, Option, Semaphore } from "effect"
import type { NodemailerError } from "nodemailer/lib/errors"
import type SMTPConnection from "nodemailer/lib/smtp-connection"
import { storedAnswer } from "../../../domain/delivery/Delivery.ts"
import { storable } from "../../../domain/StorableText.ts"
import * as Scrub from "../../../runtime/Scrub.ts"
import { NoAnswer } from "../../egress/Poster.ts"
import type { Email, Sent } from "../kinds/Sender.ts"
import type { Sender, SmtpServer } from "./SmtpServer.ts"

/** From the connection until the server's answer. */
const timeLimit = Duration.seconds(15)
/** For one of the connections. Together they are shorter than the claim of a delivery. */
const longestWait = Duration.seconds(20)
/** Connections at a time. Mail servers refuse many of one client. */
const connections = 10

export interface MailSettings {
  readonly server: SmtpServer
  readonly from: Sender
  /** Certificate authorities besides the known ones; for tests. */
  readonly ca?: string
}

interface MailerService {
  /** Without a mail server, nothing can be sent. */
  readonly isSetUp: boolean
  readonly send: (email: Email) => Effect.Effect<Sent, NoAnswer>
}

/** A reference, so that a host without a mail server need not provide it. */
export class Mailer extends Context.Reference("webhook-trigger/Mailer", {
  defaultValue: (): MailerService => ({
    isSetUp: false,
    send: () => new NoAnswer({ reason: "the server has no mail server (SMTP_URL)" })
  })
}) {
  static readonly layer = (settings: Option.Option<MailSettings>): Layer.Layer<never> =>
    Option.match(settings, {
      onNone: () => Layer.empty,
      onSome: (given) => Layer.sync(Mailer, () => make(given))
    })
}

const make = ({ from, ...place }: MailSettings): MailerService => {
  const { password = "", user = "" } = place.server.login ?? {}
  const scrub = Scrub.make([password, `\0${user}\0${password}`])
  const turn = Semaphore.makeUnsafe(connections)
  const send = Effect.fn("Mailer.send")(function* (email: Email) {
    const raw = yield* compose(email, from)
    const connection = yield* connect(place)
    const envelope = { from: from.address, to: [...email.to], size: raw.length }
    return yield* Effect.callback<SMTPConnection.SentMessageInfo, NodemailerError>((resume) =>
      connection.send(envelope, raw, (error, info) => resume(error ? Effect.fail(error) : Effect.succeed(info!)))
    ).pipe(Effect.matchEffect({ onFailure: refused, onSuccess: accepted }))
  }, Effect.scoped)
  const scrubbed = (email: Email) =>
    Effect.mapBoth(send(email), {
      onFailure: (failure) => new NoAnswer({ ...failure, reason: scrub(failure.reason) }),
      onSuccess: (sent): Sent => ({ ...sent, answer: scrub(sent.answer) })
    })
  return {
    isSetUp: true,
    send: (email) =>
      Effect.suspend(() => {
        let isWaiting = true
        const begin = Effect.sync(() => {
          isWaiting = false
        })
        const inTime = Effect.timeoutOrElse(scrubbed(email), {
          duration: timeLimit,
          orElse: () => Effect.fail(new NoAnswer({ reason: `no answer within ${Duration.format(timeLimit)}` }))
        })
        const reason = "the server is sending too many e-mails"
        const giveUp = Effect.suspend(() => (isWaiting ? new NoAnswer({ reason, isBusy: true }) : Effect.never))
        return Effect.raceFirst(turn.withPermits(1)(Effect.andThen(begin, inTime)), Effect.delay(giveUp, longestWait))
      })
  }
}

/** Connected and signed in, until the scope closes. Loaded with the first e-mail. */
export const connect = ({ ca, server: { host, login, port, tls } }: Omit<MailSettings, "from">) =>
  Effect.gen(function* () {
    const { default: Connection } = yield* Effect.promise(() => import("nodemailer/lib/smtp-connection"))
    const connection = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const timeout = Duration.toMillis(timeLimit)
        const made = new Connection({
          ...{ host, port, secure: tls === "implicit", requireTLS: tls === "starttls", ignoreTLS: tls === "off" },
          ...{ connectionTimeout: timeout, greetingTimeout: timeout, dnsTimeout: timeout, socketTimeout: timeout },
          ...{ socketCloseTimeout: 1_000, maxResponseSize: 64 * 1024 },
          ...(ca !== undefined && { tls: { ca } })
        })
        return made
      }),
      (made) => Effect.sync(() => made.close())
    )
    yield* Effect.callback<void, NoAnswer>((resume) => {
      const failed = (error: NodemailerError) => resume(new NoAnswer({ reason: `the mail server: ${reasonOf(error)}` }))
      connection.on("error", failed)
      connection.connect((error) => (error ? failed(error) : resume(Effect.void)))
    })
    if (login === undefined) return connection
    yield* Effect.callback<void, NoAnswer>((resume) =>
      connection.login({ user: login.user, pass: login.password }, (error) =>
        // The operator can correct it, so it is tried again.
        resume(
          error
            ? new NoAnswer({ reason: `the mail server refused the login: ${reasonOf(error)}`, isOfLogin: true })
            : Effect.void
        )
      )
    )
    return connection
  })

const compose = ({ at, html, id, subject, text, to }: Email, from: Sender): Effect.Effect<Buffer> =>
  Effect.promise(async () => {
    const { default: Composer } = await import("nodemailer/lib/mail-composer")
    const message = new Composer({
      ...{ from, to: [...to], subject, text, html, date: at },
      messageId: `<${id}@${from.address.slice(from.address.lastIndexOf("@") + 1)}>`,
      // So that no absence note answers it (RFC 3834).
      headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
      // Text from agents is never the name of a file or a URL.
      ...{ disableFileAccess: true, disableUrlAccess: true }
    })
    return message.compile().build()
  })

/** For some recipients it may have been refused. */
const accepted = ({ rejectedErrors = [], response }: SMTPConnection.SentMessageInfo): Effect.Effect<Sent, NoAnswer> => {
  const [first] = rejectedErrors.toSorted((a, b) => codeOf(a) - codeOf(b))
  if (first === undefined) return Effect.succeed({ http_status: 250, answer: stored(response) })
  const recipients = rejectedErrors.map(({ recipient }) => recipient).join(", ")
  const reason = `refused for ${recipients}: ${reasonOf(first)}`
  // The others have it. An address that no longer exists must not switch the destination off for them.
  if (codeOf(first) >= 500) return new NoAnswer({ reason, isOfTarget: true })
  return new NoAnswer({ reason })
}

/** 4xx is tried again, and 5xx is final (RFC 5321, 4.2.1). */
const refused = (error: NodemailerError): Effect.Effect<Sent, NoAnswer> => {
  const code = codeOf(error)
  if (code === 0) return new NoAnswer({ reason: `the mail server: ${reasonOf(error)}` })
  const answer = stored(typeof error.response === "string" ? error.response : error.message)
  return Effect.succeed({ http_status: code, answer, ...(code >= 500 && { isFinal: true as const }) })
}

const codeOf = ({ responseCode = 0 }: NodemailerError): number => responseCode

const stored = (text: string): string => storable(Buffer.from(text).subarray(0, storedAnswer).toString())

const reasonOf = (error: NodemailerError): string =>
  (typeof error.response === "string" ? error.response : error.message).replace(/\s+/g, " ").slice(0, 500)
