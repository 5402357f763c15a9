import { readFileSync } from "node:fs"
import { Duration, Effect, Layer, Option, Redacted } from "effect"
import { constVoid } from "effect/Function"
import { exitCodes, Failure, usage } from "../cli/Failure.ts"
import type { LeaderOptions } from "../cli/LocalCommands.ts"
import * as Command from "../leader/Command.ts"
import * as SystemUser from "../leader/SystemUser.ts"
import * as Buses from "./drivers/Buses.ts"
import * as LeaderEnvironment from "./environment/LeaderEnvironment.ts"
import { secretsOf } from "./environment/LoadSettings.ts"
import { settingsInvalid, withOverrides } from "./environment/Overrides.ts"
import * as Logs from "./Logs.ts"
import * as ProcessSecrets from "./ProcessSecrets.ts"
import * as Telemetry from "./Telemetry.ts"

const noBroker = usage(
  "a leader needs the broker that the server uses: --amqp-url-file, AMQP_URL or --amqp-url. A server without AMQP_URL has its bus in its own memory, which no other process can reach"
)

const didNotStart = (detail: string) =>
  new Failure({ exit: exitCodes.usage, title: "The leader did not start", detail })

const readUrl = (path: string) =>
  Effect.try({
    try: () => readFileSync(path, "utf8"),
    catch: (error) => didNotStart(`--amqp-url-file: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  })

/** Environment variables that the program does not get. */
const secrets = [...Command.keys, ...secretsOf(LeaderEnvironment.settings)]

/** The user that the program runs as, when that is not the leader's. */
const otherUser = (user: Option.Option<string>) =>
  Option.match(user, {
    onNone: () => Effect.succeedNone,
    onSome: (name) =>
      Effect.map(Effect.tap(SystemUser.find(name), SystemUser.check), (found) =>
        Option.filter(Option.some(found), ({ uid }) => uid !== process.geteuid?.())
      )
  })

/**
 * A program of the leader's own user could read the broker's address from the leader, unless it is removed there. Node
 * would start its debugger, which reads everything, for any process of the user that sends SIGUSR1.
 */
const hideFromProgram = (url: string) =>
  Effect.gen(function* () {
    process.on("SIGUSR1", constVoid)
    const isRemoved = ProcessSecrets.remove(secrets, url)
    for (const place of [...(isRemoved ? [] : ["the leader"]), ...ProcessSecrets.ancestorsThatShow(url)]) {
      yield* Effect.logWarning(
        `The program can read the broker's address, with its password, from ${place}; docs/amqp.md says what helps`
      )
    }
  })

const run = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const environment = yield* LeaderEnvironment.load
    const { leader } = Buses.choose(environment)
    if (leader === undefined) return yield* noBroker
    const { team, timeoutSeconds } = options
    const [command, ...args] = options.command
    const timeout = Option.map(timeoutSeconds, Duration.seconds)
    const user = yield* otherUser(options.user)
    const leading = Command.run({
      team,
      command,
      args,
      withheld: secrets,
      ...(Option.isSome(user) && { user: user.value }),
      ...(Option.isSome(timeout) && { timeout: timeout.value })
    })
    return yield* Command.checkProgram(command).pipe(
      Effect.zipRight(Option.isSome(user) ? Effect.void : hideFromProgram(Redacted.value(leader.url))),
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
      ProgramMissing: ({ message }) => Effect.fail(didNotStart(message)),
      UserUnusable: ({ message }) => Effect.fail(didNotStart(message))
    })
  )

/** The `leader` command: leads until a signal comes; a start that fails says why. */
export const lead = (options: LeaderOptions, version: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const { amqpUrlFile, overrides } = options
    const fromFile = Option.isNone(amqpUrlFile) ? [] : [["AMQP_URL", yield* readUrl(amqpUrlFile.value)] as const]
    yield* withOverrides(new Map([...overrides, ...fromFile]))(run(options, version))
  })
