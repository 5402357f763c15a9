import { Duration, Effect, Layer, Option } from "effect"
import { addressOf } from "../bus/amqp/Connection.ts"
import * as LeaderAmqp from "../bus/amqp/LeaderAmqp.ts"
import { teamQueue } from "../bus/amqp/Topology.ts"
import { exitCodes, Failure, usage } from "../cli/Failure.ts"
import type { LeaderOptions } from "../cli/LocalCommands.ts"
import * as Command from "../leader/Command.ts"
import * as Environment from "./Environment.ts"
import { settingsInvalid, withOverrides } from "./Overrides.ts"
import * as Telemetry from "./Telemetry.ts"

const noBroker = usage(
  "a leader needs the broker that the server uses: --amqp-url or AMQP_URL. A server without AMQP_URL has its bus in its own memory, which no other process can reach"
)

/** The `leader` command: leads until a signal comes; a start that fails says why. */
export const lead = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* Environment.loadLeader
    const { amqpQueueType: queueType, amqpUrl } = environment
    if (Option.isNone(amqpUrl)) return yield* noBroker
    const url = amqpUrl.value
    const { team, timeoutSeconds } = options
    const [command, ...args] = options.command
    const timeout = Option.map(timeoutSeconds, Duration.seconds)
    const leading = Command.run({ team, command, args, ...(Option.isSome(timeout) && { timeout: timeout.value }) })
    return yield* Command.checkProgram(command).pipe(
      Effect.zipRight(
        Effect.logInfo(
          `${command} gets the prompts of the team ${team}, from ${teamQueue(team)} at ${addressOf(url)}; a team that the server does not know gets none`
        )
      ),
      Effect.zipRight(Effect.provide(leading, LeaderAmqp.layer({ url, queueType }))),
      Effect.provide(Layer.merge(Telemetry.logs(environment), Telemetry.otlp(environment, version)))
    )
  }).pipe(
    Effect.catchTags({
      SettingsInvalid: (error) => Effect.fail(settingsInvalid("The leader", error)),
      ProgramMissing: ({ message }) =>
        Effect.fail(new Failure({ exit: exitCodes.usage, title: "The leader did not start", detail: message }))
    }),
    withOverrides(options.overrides)
  )
