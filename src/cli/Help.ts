import { Effect } from "effect"
import { print } from "./Output.ts"

/** The overview of all commands; each command's own `--help` has its options. */
const overview = `Put a team of AI agents to work with one HTTP POST.

Usage: webhook-trigger <command> [options]

  serve                  Run the server
  leader                 Lead a team with any program: leader --team deploy -- my-agent --flag

  team     list          List the teams, and whether a leader of each is connected
           create        Make a team known, so that webhooks can point at it
           show          Show one team
           message       Send a chat message to a team
           delete        Delete a team that no webhook points at

  webhook  list          List the webhooks
           create        Make a webhook; prints its token, once
           show          Show one webhook
           edit          Change a webhook
           enable        Let a webhook take triggers again
           disable       Answer a webhook's triggers with 404
           regenerate    Replace a webhook's token; prints the new one, once
           preview       Show the prompt that variables give; runs nothing
           delete        Delete a webhook and all its runs

  run      list          A webhook's history
           show          Show one run with its prompt and answer

  trigger                Trigger a webhook by its URL or token

team, webhook and run manage a running server: --url or WEBHOOK_TRIGGER_URL says where it is
(default http://localhost:8080), --admin-key or ADMIN_API_KEY opens it, --json prints JSON.

webhook-trigger <command> --help explains a command's options; --version prints the version.
`

const groups = ["team", "webhook", "run"]
const isHelp = (word: string | undefined) => word === undefined || word === "--help" || word === "-h" || word === "help"

/** Whether only an overview is asked for: nothing, `--help`, or a group without one of its commands. */
export const wantsOverview = ([first, second]: ReadonlyArray<string>): boolean =>
  isHelp(first) || (groups.includes(first!) && isHelp(second))

export const printOverview = print(overview.trimEnd())

/** The library's help comes in colours; a file, a pipe or NO_COLOR gets none. */
export const withPlainHelp = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.stdout.isTTY && process.stderr.isTTY && !process.env.NO_COLOR
    ? effect
    : Effect.consoleWith((console) =>
        Effect.withConsole(effect, {
          ...console,
          log: (text: string) => console.log(plain(text)),
          error: (text: string) => console.error(plain(text))
        })
      )

// biome-ignore lint/suspicious/noControlCharactersInRegex: the start of a colour
const plain = (text: string) => text.replace(/\u001b\[[0-9;]*m/g, "").trimEnd()
