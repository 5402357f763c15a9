import { readFileSync } from "node:fs"
import { Duration, Effect, Layer, Option, Result } from "effect"
import { exitCodes, Failure } from "../cli/Failure.ts"
import type { LeaderOptions } from "../cli/LocalCommands.ts"
import type { TeamName } from "../domain/Team.ts"
import * as AgentLeader from "../leader/AgentLeader.ts"
import { presets } from "../leader/agents/Presets.ts"
import * as Command from "../leader/Command.ts"
import { keys } from "../leader/Place.ts"
import * as LeaderEnvironment from "./environment/LeaderEnvironment.ts"
import { settingsInvalid, withOverrides } from "./environment/Overrides.ts"
import * as Logs from "./Logs.ts"
import { hideFromPrograms } from "./leaders/HiddenSecrets.ts"
import * as LeaderConnection from "./leaders/LeaderConnection.ts"
import * as LeaderDrain from "./leaders/LeaderDrain.ts"
import * as ProgramUser from "./leaders/ProgramUser.ts"
import { type Placed, placed } from "./leaders/WorkspaceWords.ts"
import * as Telemetry from "./Telemetry.ts"

const didNotStart = (detail: string) =>
  new Failure({ exit: exitCodes.usage, title: "The leader did not start", detail })

/** The variable with the contents of the option's file. */
const readVariable = (variable: string, option: string, file: Option.Option<string>) =>
  Effect.forEach(Option.toArray(file), (path) =>
    Effect.try({
      try: () => [variable, readFileSync(path, "utf8")] as const,
      catch: (error) => didNotStart(`${option}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
    })
  )

/** Environment variables hidden from the program. */
const secrets = [...keys, ...LeaderEnvironment.secrets]

const agentOf = ({ agent, command, output, workspace }: LeaderOptions): Effect.Effect<Placed, Failure> =>
  Effect.mapError(
    Effect.fromResult(
      placed(workspace, () => {
        if (Option.isSome(agent)) return presets[agent.value].agent(command)
        const [program = "", ...args] = command
        return Result.succeed(Command.agent({ command: program, args, output }))
      })
    ),
    didNotStart
  )

const run = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* LeaderEnvironment.load
    const connection = yield* LeaderConnection.choose(environment, options.team)
    const { timeoutSeconds } = options
    const { agent, stallTimeout, workspace } = yield* agentOf(options)
    const stall = Option.getOrElse(stallTimeout, () => environment.agentStallTimeout)
    const timeout = Option.map(timeoutSeconds, Duration.seconds)
    const user = yield* ProgramUser.find(options.user)
    const leading = (team: TeamName, place: string) =>
      Effect.andThen(
        Effect.logInfo(`${agent.title} receives the prompts of the team ${team} from ${place}`),
        AgentLeader.run({
          team,
          agent,
          withheld: secrets,
          grace: LeaderDrain.graceOf(environment.leaderDrain, Option.isSome(options.agent) ? "agent" : "program"),
          ...(Option.isSome(user) && { user: user.value }),
          ...(Option.isSome(workspace) && { workspace: workspace.value }),
          ...(Option.isSome(stall) && { stallTimeout: stall.value }),
          ...(Option.isSome(timeout) && { timeout: timeout.value })
        })
      )
    const { name, value } = connection.secret
    return yield* LeaderEnvironment.warnOfMisspelled.pipe(
      Effect.andThen(AgentLeader.checkProgram(agent)),
      Effect.andThen(Option.isSome(user) ? Effect.void : hideFromPrograms(name, secrets, [value])),
      Effect.andThen(connection.lead(leading)),
      Effect.provide(Layer.provideMerge(Telemetry.otlp(environment, version), Logs.layer(environment)))
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
    const variables = new Map([
      ...options.overrides,
      ...(yield* readVariable("AMQP_URL", "--amqp-url-file", options.amqpUrlFile)),
      ...(yield* readVariable("LEADER_KEY", "--key-file", options.keyFile))
    ])
    // An option counts more than a variable for the other way.
    if (variables.has("LEADER_URL")) variables.set("AMQP_URL", "")
    else if (variables.has("AMQP_URL")) variables.set("LEADER_URL", "")
    yield* withOverrides(variables)(run(options, version))
  })
