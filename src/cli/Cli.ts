import { CliConfig, Command, ValidationError } from "@effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { audit } from "./Audit.ts"
import { find, type Group, isGroup, type Leaf } from "./Commands.ts"
import { describe, exitCodes, Failure, toJson, usage } from "./Failure.ts"
import * as Help from "./Help.ts"
import { type LocalCommands, leader, serve } from "./LocalCommands.ts"
import { print, printError } from "./Output.ts"
import { runs } from "./run/Runs.ts"
import { trigger } from "./run/Trigger.ts"
import { sessions } from "./Sessions.ts"
import { teams } from "./Teams.ts"
import { webhooks } from "./webhook/Webhooks.ts"

const commands = (local: LocalCommands, program: ReadonlyArray<string> | undefined): Group => ({
  name: "webhook-trigger",
  about: "Put a team of AI agents to work with one HTTP POST.",
  note: "team, webhook, run, session and audit manage a running server. Set its address with --url or WEBHOOK_TRIGGER_URL (default http://localhost:8080), and its admin key with --admin-key or ADMIN_API_KEY. --json prints JSON. --version prints the version.",
  commands: [serve(local), leader(local, program), trigger, teams, webhooks, runs, sessions, audit]
})

/** Splits at the first `--`. The words after it belong to the program that `leader` runs. */
const split = (words: ReadonlyArray<string>) => {
  const at = words.indexOf("--")
  return at < 0 ? { own: words, rest: undefined } : { own: words.slice(0, at), rest: words.slice(at + 1) }
}

/** The library prints its errors itself. This suppresses them, because all errors are reported in one place. */
const silently = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.consoleWith((console) => Effect.withConsole(effect, { ...console, error: () => Effect.void }))

const execute = (command: Leaf, path: ReadonlyArray<string>, words: ReadonlyArray<string>, version: string) =>
  silently(Command.run(command, { name: path.join(" "), version })(["", "", ...words])).pipe(
    Effect.catchIf(ValidationError.isValidationError, ({ error }) =>
      Effect.fail(
        new Failure({
          exit: exitCodes.usage,
          title: `Wrong usage; see ${path.join(" ")} --help`,
          faults: Help.paragraphs(error).map((detail) => ({ pointer: "", detail }))
        })
      )
    )
  )

/**
 * Runs the command line and returns its exit code. `words` excludes the program's name. Results go to standard output,
 * everything else to standard error.
 */
export const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>, version: string, local: LocalCommands) {
  const { own, rest } = split(words)
  const result = Effect.gen(function* () {
    if (own[0] === "--version") return yield* print(version)
    if (rest !== undefined && own[0] !== "leader") return yield* usage("only `leader` accepts a command after --")
    const { command, path, wantsHelp, words } = yield* find(commands(local, rest), own)
    if (isGroup(command)) return yield* print(Help.ofGroup(command, path))
    return yield* wantsHelp ? print(Help.ofCommand(command, path)) : execute(command, path, words, version)
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
  NodeHttpClient.layer,
  CliConfig.layer({ showBuiltIns: false, isCaseSensitive: true })
)
