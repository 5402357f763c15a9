import { ValidationError } from "@effect/cli"
import { Console, Effect, identity, Layer } from "effect"
import { CliConfig, Command } from "effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { arrange } from "./ArgumentParser.ts"
import { audit } from "./Audit.ts"
import { apiKeys } from "./access/ApiKeys.ts"
import { sessions } from "./access/Sessions.ts"
import { alerts } from "./alert/Alerts.ts"
import { find, type Group, isGroup, type Leaf, nameOf } from "./Commands.ts"
import { adminOptions } from "./Connection.ts"
import { completion } from "./completion/Completion.ts"
import { configCommands } from "./config/Commands.ts"
import * as ExactNumbers from "./ExactNumbers.ts"
import { describe, type Failure, toJson, wrongUsage } from "./Failure.ts"
import * as Help from "./Help.ts"
import { doctor, type LocalCommands, leader, serve, supportBundle } from "./LocalCommands.ts"
import { mcp } from "./Mcp.ts"
import { print, printError } from "./Output.ts"
import { parametersOf } from "./Parameters.ts"
import { withProfile } from "./profile/ProfileSettings.ts"
import { login, logout, profiles } from "./profile/Profiles.ts"
import { runs } from "./run/Runs.ts"
import { trigger } from "./run/Trigger.ts"
import { teams } from "./Teams.ts"
import { threads } from "./Threads.ts"
import { destinations } from "./webhook/Destinations.ts"
import { webhooks } from "./webhook/Webhooks.ts"

/** Its options may precede a command's name. */
const common = Command.make("", adminOptions, () => Effect.void)
const { options: commonOptions } = parametersOf(common)

const versionOf = (version: string) =>
  Command.make("version", {}, () => print(version)).pipe(Command.withDescription("Print the version of this program"))

const commands = (local: LocalCommands, version: string, program: ReadonlyArray<string> | undefined): Group => {
  const tree: Group = {
    name: "webhook-trigger",
    about: "Put a team of AI agents to work with one HTTP POST.",
    start: [
      ["serve --agent 'review=claude'", "Run the server, with an agent as the team review"],
      ["login", "Store the server's address and your key"],
      ["webhook create --from github --team review", "Create a webhook; webhook recipes lists the services"],
      ["webhook run <webhook> --sample", "Start a run with your key; see also trigger"],
      ["run watch last", "Watch the newest run until it ends"]
    ],
    note: "Most commands manage a running server. Set its address with --url or WEBHOOK_TRIGGER_URL (default http://localhost:8080), and a key with --admin-key or ADMIN_API_KEY. --json prints JSON.",
    commands: [
      serve(local),
      leader(local, program),
      doctor(local, program),
      supportBundle(local),
      trigger,
      mcp,
      versionOf(version),
      login,
      logout,
      teams,
      webhooks,
      destinations,
      alerts,
      runs,
      threads,
      apiKeys,
      sessions,
      audit,
      profiles,
      ...configCommands,
      completion(() => tree, common)
    ]
  }
  return tree
}

/** Splits at the first `--`. The words after it are arguments or, for `leader` and `doctor`, the program that it runs or its options. */
const split = (words: ReadonlyArray<string>) => {
  const at = words.indexOf("--")
  return at < 0 ? { own: words, rest: undefined } : { own: words.slice(0, at), rest: words.slice(at + 1) }
}

/** The library prints its errors itself. This suppresses them, because all errors are reported in one place. */
const silently = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Console.Console.use((console) => Effect.provideService(effect, Console.Console, { ...console, error: () => Effect.void }))

/** `serve` has an ADMIN_API_KEY of its own, and `login` makes the profile. */
const takesProfile = (command: Leaf): boolean => {
  const names = parametersOf(command).options.map(({ name }) => name)
  return names.includes("--profile") && (names.includes("--admin-key") || nameOf(command) === "trigger")
}

/** From arranged words, in which each value follows its option. */
const givenIn = (words: ReadonlyArray<string>) => {
  const options = words.slice(0, words.indexOf("--"))
  const valueOf = (name: string) => (options.includes(name) ? options[options.indexOf(name) + 1] : undefined)
  return { profile: valueOf("--profile"), url: valueOf("--url"), key: valueOf("--admin-key") }
}

const execute = Effect.fnUntraced(function* (
  command: Leaf,
  path: ReadonlyArray<string>,
  given: { readonly words: ReadonlyArray<string>; readonly args: ReadonlyArray<string> },
  version: string
) {
  const { faults, words } = arrange(given.words, given.args, parametersOf(command))
  if (faults.length > 0) return yield* wrongUsage(path.join(" "), faults)
  yield* silently(Command.run(command, { name: path.join(" "), version })(["", "", ...words])).pipe(
    takesProfile(command) ? withProfile(givenIn(words)) : identity,
    Effect.catchIf(ValidationError.isValidationError, ({ error }) => wrongUsage(path.join(" "), Help.paragraphs(error)))
  )
})

/**
 * Runs the command line and returns its exit code. `words` excludes the program's name. Results go to standard output,
 * everything else to standard error.
 */
export const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>, version: string, local: LocalCommands) {
  const { own, rest } = split(words)
  const result = Effect.gen(function* () {
    if (own[0] === "--version" || own[0] === "-v") return yield* print(version)
    const all = commands(local, version, rest)
    const { command, path, wantsHelp, words } = yield* find(all, own, commonOptions)
    if (isGroup(command)) return yield* print(Help.ofGroup(command, path))
    if (wantsHelp) return yield* print(Help.ofCommand(command, path))
    const args = ["leader", "doctor"].includes(nameOf(command)) ? [] : (rest ?? [])
    yield* execute(command, path, { words, args }, version)
  })
  const report = (failure: Failure) =>
    Effect.as(
      printError(own.includes("--json") ? JSON.stringify(toJson(failure), null, 2) : describe(failure)),
      failure.exit
    )
  return yield* result.pipe(Effect.as(0), Effect.catchTag("CliFailure", report), Effect.provide(layer))
})

const layer = Layer.mergeAll(
  NodeContext.layer,
  Layer.provide(ExactNumbers.layer, NodeHttpClient.layer),
  CliConfig.layer({ showBuiltIns: false, isCaseSensitive: true })
)
