import { Duration, Effect, Layer, Option } from "effect"
import { exitCodes, Failure, usage } from "../cli/Failure.ts"
import type { LeaderOptions } from "../cli/LocalCommands.ts"
import * as Command from "../leader/Command.ts"
import * as Buses from "./Buses.ts"
import * as LeaderEnvironment from "./LeaderEnvironment.ts"
import { secretsOf } from "./LoadSettings.ts"
import * as Logs from "./Logs.ts"
import { settingsInvalid, withOverrides } from "./Overrides.ts"
import * as Telemetry from "./Telemetry.ts"

const noBroker = usage(
  "a leader needs the broker that the server uses: --amqp-url or AMQP_URL. A server without AMQP_URL has its bus in its own memory, which no other process can reach"
)

/** The `leader` command: leads until a signal comes; a start that fails says why. */
export const lead = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* LeaderEnvironment.load
    const { leader } = Buses.choose(environment)
    if (leader === undefined) return yield* noBroker
    const { team, timeoutSeconds } = options
    const [command, ...args] = options.command
    const timeout = Option.map(timeoutSeconds, Duration.seconds)
    const leading = Command.run({
      team,
      command,
      args,
      withheld: secretsOf(LeaderEnvironment.settings),
      ...(Option.isSome(timeout) && { timeout: timeout.value })
    })
    return yield* Command.checkProgram(command).pipe(
      Effect.zipRight(
        Effect.logInfo(
          `${command} gets the prompts of the team ${team}, from ${leader.queueOf(team)}; a team that the server does not know gets none`
        )
      ),
      Effect.zipRight(Effect.provide(leading, leader.layer)),
      Effect.provide(Layer.merge(Logs.layer(environment), Telemetry.otlp(environment, version)))
    )
  }).pipe(
    Effect.catchTags({
      SettingsInvalid: (error) => Effect.fail(settingsInvalid("The leader", error)),
      ProgramMissing: ({ message }) =>
        Effect.fail(new Failure({ exit: exitCodes.usage, title: "The leader did not start", detail: message }))
    }),
    withOverrides(options.overrides)
  )
