import { readFileSync } from "node:fs"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { exitCodes, Failure, usage } from "../cli/Failure.ts"
import type { LeaderOptions } from "../cli/LocalCommands.ts"
import * as AgentLeader from "../leader/AgentLeader.ts"
import type { Agent } from "../leader/agents/Agent.ts"
import { presets } from "../leader/agents/Presets.ts"
import * as Command from "../leader/Command.ts"
import { keys } from "../leader/Place.ts"
import * as Buses from "./drivers/Buses.ts"
import * as LeaderEnvironment from "./environment/LeaderEnvironment.ts"
import { secretsOf } from "./environment/LoadSettings.ts"
import { settingsInvalid, withOverrides } from "./environment/Overrides.ts"
import * as Logs from "./Logs.ts"
import { hideFromPrograms } from "./leaders/HiddenSecrets.ts"
import * as ProgramUser from "./leaders/ProgramUser.ts"
import * as Telemetry from "./Telemetry.ts"

const noBroker = usage(
  "a leader needs the server's broker: set --amqp-url-file, AMQP_URL or --amqp-url. Other processes cannot reach the embedded bus of a server without AMQP_URL"
)

const didNotStart = (detail: string) =>
  new Failure({ exit: exitCodes.usage, title: "The leader did not start", detail })

const readUrl = (path: string) =>
  Effect.try({
    try: () => readFileSync(path, "utf8"),
    catch: (error) => didNotStart(`--amqp-url-file: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  })

/** Environment variables hidden from the program. */
const secrets = [...keys, ...secretsOf(LeaderEnvironment.settings)]

const agentOf = ({ agent, command, output }: LeaderOptions): Effect.Effect<Agent, Failure> => {
  if (Option.isSome(agent)) return Effect.mapError(presets[agent.value].agent(command), didNotStart)
  const [program = "", ...args] = command
  return Effect.succeed(Command.agent({ command: program, args, output }))
}

const run = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* LeaderEnvironment.load
    const { leader, leaderBus } = Buses.choose(environment)
    if (leader === undefined) return yield* noBroker
    const { team, timeoutSeconds } = options
    const agent = yield* agentOf(options)
    const timeout = Option.map(timeoutSeconds, Duration.seconds)
    const user = yield* ProgramUser.find(options.user)
    const leading = AgentLeader.run({
      team,
      agent,
      withheld: secrets,
      ...(Option.isSome(user) && { user: user.value }),
      ...(Option.isSome(timeout) && { timeout: timeout.value })
    })
    return yield* AgentLeader.checkProgram(agent).pipe(
      Effect.zipRight(
        Option.isSome(user)
          ? Effect.void
          : hideFromPrograms("the broker's address, with its password,", secrets, [Redacted.value(leader.url)])
      ),
      Effect.zipRight(
        Effect.logInfo(
          `${agent.title} receives the prompts of the team ${team} from ${leader.queueOf(team)}; a team unknown to the server receives none`
        )
      ),
      Effect.zipRight(Effect.provide(leading, leaderBus)),
      Effect.provide(Layer.merge(Logs.layer(environment), Telemetry.otlp(environment, version)))
    )
  }).pipe(
    Effect.catchTags({
      SettingsInvalid: (error) => Effect.fail(settingsInvalid("The leader", error)),
      ProgramMissing: ({ message }) => Effect.fail(didNotStart(message)),
      UserUnusable: ({ message }) => Effect.fail(didNotStart(message))
    })
  )

/** The `leader` command. Leads until a signal arrives. */
export const lead = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const { amqpUrlFile, overrides } = options
    const fromFile = Option.isNone(amqpUrlFile) ? [] : [["AMQP_URL", yield* readUrl(amqpUrlFile.value)] as const]
    yield* withOverrides(new Map([...overrides, ...fromFile]))(run(options, version))
  })
