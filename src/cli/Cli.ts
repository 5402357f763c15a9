import { CliConfig, Command, ValidationError } from "@effect/cli"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { describe, exitCodes, Failure, toJson, usage } from "./Failure.ts"
import { printOverview, wantsOverview, withPlainHelp } from "./Help.ts"
import { type Here, leader, serve } from "./Here.ts"
import { print, printError } from "./Output.ts"
import { runs } from "./Runs.ts"
import { teams } from "./Teams.ts"
import { trigger } from "./Trigger.ts"
import { webhooks } from "./Webhooks.ts"

/** Splits at the first `--`: what follows belongs to the program that `leader` runs, flags and all. */
const split = (words: ReadonlyArray<string>) => {
  const at = words.indexOf("--")
  return at < 0 ? { own: words, rest: undefined } : { own: words.slice(0, at), rest: words.slice(at + 1) }
}

/**
 * Runs the command line and gives its exit code. `words` are the words after the program's name. Answers go to
 * standard output, everything else to standard error.
 */
export const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>, version: string, here: Here) {
  const { own, rest } = split(words)
  const root = Command.make("webhook-trigger").pipe(
    Command.withDescription("Put a team of AI agents to work with one HTTP POST."),
    Command.withSubcommands([serve(here), leader(here, rest), teams, webhooks, runs, trigger])
  )
  const execute = withPlainHelp(Command.run(root, { name: "webhook-trigger", version })(["", "", ...own]))

  const tell = (failure: Failure) =>
    Effect.as(
      printError(own.includes("--json") ? JSON.stringify(toJson(failure), null, 2) : describe(failure)),
      failure.exit as number
    )
  const started =
    rest !== undefined && own[0] !== "leader"
      ? usage("only `leader` takes a command after --")
      : own[0] === "--version"
        ? print(version)
        : wantsOverview(own)
          ? printOverview
          : execute
  return yield* started.pipe(
    Effect.as(0),
    Effect.catchIf((error): error is Failure => error instanceof Failure, tell),
    // The command line's own faults have been printed by then.
    Effect.catchIf(ValidationError.isValidationError, () => Effect.succeed<number>(exitCodes.usage)),
    Effect.provide(layer)
  )
})

const layer = Layer.mergeAll(
  NodeContext.layer,
  NodeHttpClient.layer,
  CliConfig.layer({ showBuiltIns: false, isCaseSensitive: true })
)
