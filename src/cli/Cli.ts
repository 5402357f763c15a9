import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import { Argument, CliConfig, CliError, CliOutput, Command, Completions, GlobalFlag } from "effect/cli"
import { apiKeys, audit, sessions } from "./Access.ts"
import { alerts } from "./Alerts.ts"
import * as Call from "./Call.ts"
import { type Leaf, local } from "./Command.ts"
import { configCommands } from "./config/Commands.ts"
import { destinations } from "./Destinations.ts"
import { describe, didYouMean, type Failure, OnlyChecks, toJson, usageFaultsOf, wrongUsage } from "./Failure.ts"
import { helpText } from "./Help.ts"
import { type LocalCommands, localCommands } from "./LocalCommands.ts"
import { mcp } from "./Mcp.ts"
import { nextSteps } from "./NextSteps.ts"
import { print, printError } from "./Output.ts"
import { login, logout, profiles } from "./profile/Profiles.ts"
import { runs } from "./run/Runs.ts"
import { trigger } from "./run/Trigger.ts"
import { teams } from "./Teams.ts"
import { threads } from "./Threads.ts"
import { webhooks } from "./webhook/Webhooks.ts"

const shells = ["bash", "zsh", "fish", "powershell"] as const

/** `rest`: the words after `--`. */
const program = (commands: LocalCommands, version: string, rest: ReadonlyArray<string>): Leaf => {
  const own: ReadonlyArray<Leaf> = [
    ...localCommands(commands, rest),
    trigger,
    mcp,
    login,
    logout,
    ...configCommands,
    local("version", { about: "Print the version of this program" }, {}, () => print(version)),
    local(
      "completion",
      {
        about: "Print the script that completes commands and options in a shell",
        examples: [
          "source <(webhook-trigger completion bash)",
          "webhook-trigger completion zsh > ~/.zfunc/_webhook-trigger",
          "webhook-trigger completion fish > ~/.config/fish/completions/webhook-trigger.fish"
        ]
      },
      { shell: Argument.Literals("shell", shells).pipe(Argument.withDescription("The shell")) },
      ({ shell }) => print(Completions.generate(root.name, shell, Completions.fromCommand(root)).trimEnd())
    )
  ]
  const root = Command.make("webhook-trigger").pipe(
    Command.withDescription(
      "Put a team of AI agents to work with one HTTP POST.\n\n  Most commands manage a running server. Set its address with --url or WEBHOOK_TRIGGER_URL (default http://localhost:8080), and a key with --admin-key or ADMIN_API_KEY. --json prints JSON."
    ),
    Command.withExamples([
      {
        command: "webhook-trigger serve --agent 'review=claude'",
        description: "Run the server, with an agent as the team review"
      },
      { command: "webhook-trigger login", description: "Store the server's address and your key" },
      {
        command: "webhook-trigger webhook create --from github --team review",
        description: "Create a webhook; webhook recipes lists the services"
      },
      {
        command: "webhook-trigger webhook run <webhook> --sample",
        description: "Start a run with your key; see also trigger"
      },
      { command: "webhook-trigger run watch last", description: "Watch the newest run until it ends" }
    ]),
    Command.withSubcommands([
      {
        group: "Groups of commands",
        commands: [teams, webhooks, destinations, alerts, runs, threads, apiKeys, sessions, audit, profiles]
      },
      { group: "Other commands", commands: own }
    ])
  ) as Leaf
  return root
}

/** Wrong words are reported with all other failures, in one place. */
const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "Help":
        return print(helpText(event.helpDoc))
      case "InvalidInvocation":
        return Effect.void
      case "Version":
        return print(event.version)
    }
  }
}

const faultOf = (error: CliError.CliError): string => {
  const suggestions = "suggestions" in error ? error.suggestions.join(" or ") : ""
  const [text = ""] = error.message.split("\n")
  return (suggestions === "" ? "" : `${didYouMean} ${suggestions}? `) + text.replace(/ in command .*/, "")
}

/** None: help was asked for. */
const errorsOf = (error: CliError.CliError) => (error._tag === "ShowHelp" ? error.errors : [error])

/** Without unknown flags, so that the rest can be checked. With a value, a similar flag is what was meant. */
const withKnownFlags = (words: ReadonlyArray<string>, unknown: ReadonlyArray<CliError.UnrecognizedOption>) => {
  const end = words.includes("--") ? words.indexOf("--") : words.length
  const similarTo = new Map(unknown.map(({ option, suggestions }) => [option, suggestions[0]]))
  const known = words.slice(0, end).flatMap((word, n) => {
    const [name = ""] = word.split("=")
    if (!similarTo.has(name)) return word
    const similar = similarTo.get(name)
    const hasValue = word !== name || words[n + 1]?.startsWith("-") === false
    return similar !== undefined && hasValue ? similar + word.slice(name.length) : []
  })
  return [...known, ...words.slice(end)]
}

/** The command that the words name, with the names of all above it. */
const namedBy = (
  command: Completions.CommandDescriptor,
  [word, ...words]: ReadonlyArray<string>
): Completions.CommandDescriptor => {
  const below = command.subcommands.find(({ name }) => name === word)
  if (below === undefined) return word === undefined ? command : namedBy(command, words)
  return namedBy({ ...below, name: `${command.name} ${below.name}` }, words)
}

/**
 * A text may begin like a flag, such as `- a list`: a flag's value is joined to it unless it names a flag itself, and an
 * argument with white space goes behind `--`. A switch takes no value, not even the `yes` after it, and may be repeated.
 */
const withTexts = (words: ReadonlyArray<string>, { flags }: Completions.CommandDescriptor): ReadonlyArray<string> => {
  const end = words.includes("--") ? words.indexOf("--") : words.length
  const named = (word: string) =>
    flags.find(({ aliases, name }) => [`--${name}`, ...aliases.map((alias) => `-${alias}`)].includes(word))
  const [before, texts]: [Array<string>, Array<string>] = [[], []]
  for (const word of words.slice(0, end)) {
    const last = before.at(-1) ?? ""
    const flag = named(word)
    if (flag?.type._tag === "Boolean") {
      const on = `--${flag.name}=true`
      if (!before.includes(on)) before.push(on)
      continue
    }
    const isText = word.startsWith("-") && named(word.split("=")[0]!) === undefined
    if (isText && (named(last)?.type._tag ?? "Boolean") !== "Boolean") before.push(`${before.pop()}=${word}`)
    else (isText && /\s/.test(word) ? texts : before).push(word)
  }
  return texts.length === 0 ? [...before, ...words.slice(end)] : [...before, "--", ...texts, ...words.slice(end + 1)]
}

/**
 * Runs the command line and returns its exit code. `words` excludes the program's name. Results go to standard output,
 * everything else to standard error.
 */
export const run = Effect.fnUntraced(function* (words: ReadonlyArray<string>, version: string, local: LocalCommands) {
  // `help team list` is `team list --help`.
  const at = words.findIndex((word) => !word.startsWith("-"))
  const asked = words[at] === "help" ? [...words.toSpliced(at, 1), "--help"] : words
  const before = words.slice(0, words.includes("--") ? words.indexOf("--") : undefined)
  const root = program(local, version, words.slice(before.length + 1))
  const command = namedBy(Completions.fromCommand(root), before)
  const parse = Command.runWith(root, { version })
  const report = (failure: Failure) => {
    const text = before.includes("--json") ? JSON.stringify(toJson(failure), null, 2) : describe(failure, command.name)
    return Effect.as(printError(text), failure.exit)
  }
  const faultsIn = (words: ReadonlyArray<string>) =>
    Effect.match(Effect.provideService(parse(withTexts(words, command)), OnlyChecks, true), {
      onSuccess: () => [],
      onFailure: (error) => (CliError.isCliError(error) ? errorsOf(error).map(faultOf) : usageFaultsOf(error))
    })
  return yield* (words.length === 0 ? nextSteps : parse(withTexts(asked, command))).pipe(
    Effect.catchIf(CliError.isCliError, (error) => {
      const errors = errorsOf(error)
      const faults = errors.map(faultOf)
      const unknown = errors.filter((each) => each._tag === "UnrecognizedOption")
      if (errors.length === 0) return Effect.void
      if (unknown.length < errors.length) return wrongUsage(faults)
      // The parser stopped at these.
      return Effect.flatMap(faultsIn(withKnownFlags(asked, unknown)), (others) => wrongUsage([...faults, ...others]))
    }),
    Effect.as(0),
    Effect.catchTag("CliFailure", report),
    Effect.provide(layer)
  )
})

const layer = Layer.mergeAll(
  NodeServices.layer,
  Call.layer,
  CliOutput.layerPresenter(presenter),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Wizard, GlobalFlag.Completions] })
)
