/** The settings of the mail server. */
import { Option, Redacted, Schema } from "effect"
import type { MailSettings } from "../../engine/delivery/mail/Mailer.ts"
import { parseSender, parseSmtpUrl, type Sender, senderText } from "../../engine/delivery/mail/SmtpServer.ts"
import { type Format, optional, secret, type Values } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import type { SettingFault } from "./LoadSettings.ts"

/** As text, so that no value has to be written anew. */
const smtpUrl: Format<string> = {
  accepts:
    "takes a URL such as `smtps://user:password@smtp.example.com:465`, or `smtp://…` for STARTTLS, with special characters percent-encoded; `smtp://localhost:25?tls=off` for a relay without TLS and password",
  schema: Schema.String.pipe(Schema.check(Schema.makeFilter((text) => Option.isSome(parseSmtpUrl(text)))))
}

const sender: Format<Sender> = {
  accepts: "takes an address such as `webhooks@example.com` or `Webhooks <webhooks@example.com>`",
  schema: fromText(Schema.Any as Schema.Codec<Sender>, parseSender, senderText)
}

export const settings = {
  /** The mail server that e-mails are sent by. */
  smtpUrl: optional("SMTP_URL", secret(smtpUrl)),
  /** The address that they come from. */
  smtpFrom: optional("SMTP_FROM", sender)
}

type Given = Values<typeof settings>

export const conflicts = ({ smtpFrom, smtpUrl }: Given): ReadonlyArray<SettingFault> =>
  Option.isSome(smtpUrl) && Option.isNone(smtpFrom)
    ? [{ name: "SMTP_FROM", accepts: `${sender.accepts}; SMTP_URL needs it` }]
    : []

export const mailSettings = ({ smtpFrom, smtpUrl }: Given): Option.Option<MailSettings> =>
  Option.flatMap(Option.all({ url: smtpUrl, from: smtpFrom }), ({ from, url }) =>
    Option.map(parseSmtpUrl(Redacted.value(url)), (server) => ({ server, from }))
  )
