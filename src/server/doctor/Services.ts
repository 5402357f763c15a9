/** The services that a server's settings name, examined. */
import { Effect, Option, Redacted } from "effect"
import type { OidcSettings } from "../../engine/access/oidc/OidcSettings.ts"
import * as Provider from "../../engine/access/oidc/Provider.ts"
import { connect } from "../../engine/delivery/mail/Mailer.ts"
import { parseSmtpUrl } from "../../engine/delivery/mail/SmtpServer.ts"
import * as Buses from "../drivers/Buses.ts"
import * as Repos from "../drivers/Repos.ts"
import * as FilesEnvironment from "../environment/FilesEnvironment.ts"
import * as LoadSettings from "../environment/LoadSettings.ts"
import * as MailEnvironment from "../environment/MailEnvironment.ts"
import * as OidcEnvironment from "../environment/OidcEnvironment.ts"
import { examineBroker } from "./BrokerChecks.ts"
import { examineBucket } from "./BucketChecks.ts"
import { type Examined, failedAt, oneLine, passed } from "./Check.ts"
import { examineDatabase } from "./DatabaseChecks.ts"

const conflicts = (
  found: Parameters<typeof OidcEnvironment.conflicts>[0] &
    Parameters<typeof Repos.conflicts>[0] &
    Parameters<typeof FilesEnvironment.conflicts>[0]
) => [...Repos.conflicts(found), ...FilesEnvironment.conflicts(found), ...OidcEnvironment.conflicts(found)]

/** The settings that name them. */
export const settings = Effect.filterOrFail(
  LoadSettings.load({
    ...{ ...Buses.settings, ...Repos.settings },
    ...{ ...MailEnvironment.settings, ...FilesEnvironment.settings, ...OidcEnvironment.settings }
  }),
  (found) => conflicts(found).length === 0,
  (found) => new LoadSettings.SettingsInvalid({ faults: conflicts(found) })
)

type Services = Effect.Success<typeof settings>

const mailChecks = ["mail server reached", "mail server signed in"]

/** Whether a server can use the mail server at `SMTP_URL`. Sends nothing. */
const examineMail = (url: Redacted.Redacted<string>): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const server = yield* Effect.fromOption(parseSmtpUrl(Redacted.value(url)))
    const place = `${server.host}:${server.port}`
    return yield* connect({ server }).pipe(
      Effect.as(passed(mailChecks, [place])),
      Effect.catchTag("NoAnswer", ({ isOfLogin, reason }) =>
        Effect.succeed(
          isOfLogin
            ? failedAt(mailChecks, 1, oneLine(reason), "Correct the user and the password in SMTP_URL.", [place])
            : failedAt(
                mailChecks,
                0,
                `${place}: ${oneLine(reason)}`,
                "Check the host, the port and the scheme in SMTP_URL: smtps for port 465, smtp with STARTTLS for 587."
              )
        )
      ),
      Effect.scoped
    )
  }).pipe(Effect.orDie)

const providerChecks = ["provider reached", "provider client"]

/** Whether people can sign in at the OpenID provider. Sends it a code that it did not issue, so nobody is signed in. */
export const examineProvider = (settings: OidcSettings): Effect.Effect<Examined> =>
  Effect.gen(function* () {
    const provider = yield* Provider.make(settings)
    return yield* Effect.match(provider.examine, {
      onFailure: ({ detail, problem }) =>
        problem === "provider_unavailable"
          ? failedAt(
              providerChecks,
              0,
              `${settings.issuer}: ${oneLine(detail)}`,
              "Check OIDC_ISSUER, which must equal the `issuer` in the provider's metadata, and that this machine reaches it."
            )
          : failedAt(
              providerChecks,
              1,
              oneLine(detail),
              "Check OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and OIDC_CLIENT_AUTH_METHOD against the client at the provider.",
              [settings.issuer]
            ),
      onSuccess: () => passed(providerChecks, [settings.issuer, settings.clientId])
    })
  })

export const examine = (services: Services): Effect.Effect<ReadonlyArray<Examined>> =>
  Effect.all(
    [
      ...Option.toArray(Option.map(services.databaseUrl, examineDatabase)),
      ...Option.toArray(Option.map(services.amqpUrl, (url) => examineBroker(url, services.amqpQueueType))),
      ...Option.toArray(Option.map(services.smtpUrl, (url) => examineMail(url))),
      ...Option.toArray(Option.map(FilesEnvironment.s3Settings(services), examineBucket)),
      ...Option.toArray(Option.map(OidcEnvironment.toSettings(services), examineProvider))
    ],
    { concurrency: 5 }
  )
