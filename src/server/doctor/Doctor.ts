/** Checks what a server and its leaders need. */
import { Effect, Option } from "effect"
import { type Failure, usage } from "../../cli/Failure.ts"
import type { DoctorOptions } from "../../cli/LocalCommands.ts"
import { settingsInvalid } from "../environment/Overrides.ts"
import { examineAgent } from "./AgentChecks.ts"
import { report } from "./Check.ts"
import * as Services from "./Services.ts"

const examineServices: Effect.Effect<void, Failure> = Effect.gen(function* () {
  const services = yield* Effect.mapError(Services.settings, (error) => settingsInvalid("The check", error))
  const examined = yield* Services.examine(services)
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
