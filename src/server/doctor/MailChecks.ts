import { Effect, Redacted } from "effect"
import { connect, type MailSettings } from "../../engine/delivery/mail/Mailer.ts"
import { parseSmtpUrl } from "../../engine/delivery/mail/SmtpServer.ts"
import { type Examined, failedAt, oneLine, passed } from "./Check.ts"

const names = ["mail server reached", "mail server signed in"]
const [reached, signedIn] = [0, 1]

/** Whether a server can use the mail server at `SMTP_URL`. Sends nothing. */
export const examineMail = (url: Redacted.Redacted<string>, ca?: MailSettings["ca"]): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const server = yield* parseSmtpUrl(Redacted.value(url))
    const place = `${server.host}:${server.port}`
    return yield* connect({ server, ...(ca !== undefined && { ca }) }).pipe(
      Effect.as(passed(names, [place])),
      Effect.catchTag("NoAnswer", ({ isOfLogin, reason }) =>
        Effect.succeed(
          isOfLogin
            ? failedAt(names, signedIn, oneLine(reason), "Correct the user and the password in SMTP_URL.", [place])
            : failedAt(
                names,
                reached,
                `${place}: ${oneLine(reason)}`,
                "Check the host, the port and the scheme in SMTP_URL: smtps for port 465, smtp with STARTTLS for 587."
              )
        )
      ),
      Effect.scoped
    )
  }).pipe(Effect.orDie)
