/** Checks what a server and its leaders need. */
import { Effect, Option } from "effect"
import { type Failure, usage } from "../../cli/Failure.ts"
import type { DoctorOptions } from "../../cli/LocalCommands.ts"
import * as Buses from "../drivers/Buses.ts"
import * as Repos from "../drivers/Repos.ts"
import * as LoadSettings from "../environment/LoadSettings.ts"
import * as MailEnvironment from "../environment/MailEnvironment.ts"
import * as OidcEnvironment from "../environment/OidcEnvironment.ts"
import { settingsInvalid } from "../environment/Overrides.ts"
import { examineAgent } from "./AgentChecks.ts"
import { examineBroker } from "./BrokerChecks.ts"
import { report } from "./Check.ts"
import { examineDatabase } from "./DatabaseChecks.ts"
import { examineMail } from "./MailChecks.ts"
import { examineProvider } from "./ProviderChecks.ts"

const settings = Effect.filterOrFail(
  LoadSettings.load({
    ...{ ...Buses.settings, ...Repos.settings },
    ...{ ...MailEnvironment.settings, ...OidcEnvironment.settings }
  }),
  (found) => OidcEnvironment.conflicts(found).length === 0,
  (found) => new LoadSettings.SettingsInvalid({ faults: OidcEnvironment.conflicts(found) })
)

const examineServices: Effect.Effect<void, Failure> = Effect.gen(function* () {
  const environment = yield* Effect.mapError(settings, (error) => settingsInvalid("The check", error))
  const { amqpQueueType, amqpUrl, databaseUrl, smtpUrl } = environment
  const examined = yield* Effect.all(
    [
      ...Option.toArray(Option.map(databaseUrl, examineDatabase)),
      ...Option.toArray(Option.map(amqpUrl, (url) => examineBroker(url, amqpQueueType))),
      ...Option.toArray(Option.map(smtpUrl, (url) => examineMail(url))),
      ...Option.toArray(Option.map(OidcEnvironment.toSettings(environment), examineProvider))
    ],
    { concurrency: 4 }
  )
  if (examined.length === 0)
    return yield* usage(
      "choose an agent with --agent, or set DATABASE_URL, AMQP_URL, SMTP_URL or OIDC_ISSUER to check those services"
    )
  yield* report(
    examined.flatMap(({ checks }) => checks),
    "A server cannot work with these settings",
    examined.flatMap(({ help }) => help ?? []).join(" ")
  )
})

/** The `doctor` command. */
export const examine = ({ agent, options }: DoctorOptions): Effect.Effect<void, Failure> =>
  Option.match(agent, {
    onNone: () => examineServices,
    onSome: (agent) => examineAgent(agent, options)
  })
