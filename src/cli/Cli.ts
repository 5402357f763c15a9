import { CliConfig, Command, ValidationError } from "@effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { find, type Group, isGroup, type Leaf } from "./Commands.ts"
import { describe, exitCodes, Failure, toJson, usage } from "./Failure.ts"
import * as Help from "./Help.ts"
import { type Here, leader, serve } from "./Here.ts"
import { print, printError } from "./Output.ts"
import { runs } from "./Runs.ts"
import { teams } from "./Teams.ts"
import { trigger } from "./Trigger.ts"
import { webhooks } from "./Webhooks.ts"

const commands = (here: Here, program: ReadonlyArray<string> | undefined): Group => ({
  name: "webhook-trigger",
  about: "Put a team of AI agents to work with one HTTP POST.",
  note: "team, webhook and run manage a running server: --url or WEBHOOK_TRIGGER_URL says where it is (default http://localhost:8080), --admin-key or ADMIN_API_KEY opens it. --json prints JSON; --version alone the version.",
  commands: [serve(here), leader(here, program), trigger, teams, webhooks, runs]
})

/** Splits at the first `--`: what follows belongs to the program that `leader` runs, flags and all. */
const split = (words: ReadonlyArray<string>) => {
  const at = words.indexOf("--")
  return at < 0 ? { own: words, rest: undefined } : { own: words.slice(0, at), rest: words.slice(at + 1) }
}

/** The library prints its faults before it fails with them; they are told once, and like all others. */
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
 * Runs the command line and gives its exit code. `words` are the words after the program's name. Answers go to
 * standard output, everything else to standard error.
 */
export const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>, version: string, here: Here) {
  const { own, rest } = split(words)
  const carryOut = Effect.gen(function* () {
    if (own[0] === "--version") return yield* print(version)
    if (rest !== undefined && own[0] !== "leader") return yield* usage("only `leader` takes a command after --")
    const { asked, path, wantsHelp, words } = yield* find(commands(here, rest), own)
    if (isGroup(asked)) return yield* print(Help.ofGroup(asked, path))
    return yield* wantsHelp ? print(Help.ofCommand(asked, path)) : execute(asked, path, words, version)
  })
  const tell = (failure: Failure) =>
    Effect.as(
      printError(own.includes("--json") ? JSON.stringify(toJson(failure), null, 2) : describe(failure)),
      failure.exit as number
    )
  return yield* carryOut.pipe(Effect.as(0), Effect.catchTag("CliFailure", tell), Effect.provide(layer))
})

const layer = Layer.mergeAll(
  NodeContext.layer,
  NodeHttpClient.layer,
  CliConfig.layer({ showBuiltIns: false, isCaseSensitive: true })
)
