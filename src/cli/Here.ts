import { Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { TeamName } from "../domain/Team.ts"
import { type Failure, usage } from "./Failure.ts"

/** Environment variables that options have set. */
export type Overrides = ReadonlyMap<string, string>

/** What the `leader` command is told; `command` is the program and its arguments, untouched. */
export interface LeaderOptions {
  readonly team: TeamName
  /** After this the program is ended and the run fails; absent: it may take as long as it likes. */
  readonly timeoutSeconds: Option.Option<number>
  readonly command: readonly [program: string, ...args: ReadonlyArray<string>]
  readonly overrides: Overrides
}

/** What runs in this very process, not against a server. `main.ts` gives it, so that it is loaded only when asked for. */
export interface Here {
  readonly serve: (overrides: Overrides) => Effect.Effect<void, Failure>
  readonly leader: (options: LeaderOptions) => Effect.Effect<void, Failure>
}

const override = (option: string, name: string, meaning: string) =>
  Options.text(option).pipe(
    Options.withDescription(`${meaning}; else ${name}`),
    Options.map((value): readonly [string, string] => [name, value]),
    Options.optional
  )

export const serve = (here: Here) =>
  Command.make(
    "serve",
    {
      host: override("host", "HOST", "The address to listen on"),
      port: override("port", "PORT", "The port to listen on"),
      dataDir: override("data-dir", "DATA_DIR", "The folder of the embedded database")
    },
    (options) => here.serve(new Map([options.host, options.port, options.dataDir].flatMap(Option.toArray)))
  ).pipe(
    Command.withDescription(
      "Run the server. It is told what to do by environment variables (docs/settings.md); without any it keeps its own database and a demo team, for trying out"
    )
  )

const team = Options.text("team").pipe(
  Options.withSchema(TeamName),
  Options.withDescription("The team that the program leads")
)
const amqpUrl = override("amqp-url", "AMQP_URL", "The message broker; the variable is better, no process list shows it")
const timeout = Options.integer("timeout").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("End the program, and fail the run, after this time"),
  Options.optional
)

export const leader = (here: Here, command: ReadonlyArray<string> | undefined) =>
  Command.make("leader", { team, amqpUrl, timeout }, (options) =>
    Effect.gen(function* () {
      const [program, ...args] = command ?? []
      if (program === undefined || program === "") {
        return yield* usage("say what to run after --, as in: webhook-trigger leader --team deploy -- my-agent --flag")
      }
      if (Option.exists(options.timeout, (seconds) => seconds < 1))
        return yield* usage("--timeout takes seconds, 1 or more")
      yield* here.leader({
        team: options.team,
        timeoutSeconds: options.timeout,
        command: [program, ...args],
        overrides: new Map(Option.toArray(options.amqpUrl))
      })
    })
  ).pipe(
    Command.withDescription(
      "Lead a team with any program: webhook-trigger leader --team deploy -- my-agent --flag. For each prompt the program is started with the prompt on its standard input; what it prints is the answer; an exit code other than 0 is an error"
    )
  )
