/** The services that a server's settings name, examined. */
import { Effect, Option } from "effect"
import * as Buses from "../drivers/Buses.ts"
import * as Repos from "../drivers/Repos.ts"
import * as LoadSettings from "../environment/LoadSettings.ts"
import * as MailEnvironment from "../environment/MailEnvironment.ts"
import * as OidcEnvironment from "../environment/OidcEnvironment.ts"
import { examineBroker } from "./BrokerChecks.ts"
import type { Examined } from "./Check.ts"
import { examineDatabase } from "./DatabaseChecks.ts"
import { examineMail } from "./MailChecks.ts"
import { examineProvider } from "./ProviderChecks.ts"

const conflicts = (found: Parameters<typeof OidcEnvironment.conflicts>[0] & Parameters<typeof Repos.conflicts>[0]) => [
  ...Repos.conflicts(found),
  ...OidcEnvironment.conflicts(found)
]

/** The settings that name them. */
export const settings = Effect.filterOrFail(
  LoadSettings.load({
    ...{ ...Buses.settings, ...Repos.settings },
    ...{ ...MailEnvironment.settings, ...OidcEnvironment.settings }
  }),
  (found) => conflicts(found).length === 0,
  (found) => new LoadSettings.SettingsInvalid({ faults: conflicts(found) })
)

export type Services = Effect.Effect.Success<typeof settings>

export const examine = (services: Services): Effect.Effect<ReadonlyArray<Examined>> =>
  Effect.all(
    [
      ...Option.toArray(Option.map(services.databaseUrl, examineDatabase)),
      ...Option.toArray(Option.map(services.amqpUrl, (url) => examineBroker(url, services.amqpQueueType))),
      ...Option.toArray(Option.map(services.smtpUrl, (url) => examineMail(url))),
      ...Option.toArray(Option.map(OidcEnvironment.toSettings(services), examineProvider))
    ],
    { concurrency: 4 }
  )
