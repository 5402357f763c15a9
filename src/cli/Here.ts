import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { TeamName } from "../domain/Team.ts"
import { checked, whole } from "./Checked.ts"
import { type Failure, usage } from "./Failure.ts"
import { about } from "./Help.ts"

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

const override = (option: string, value: string, name: string, meaning: string) =>
  Options.text(option).pipe(
    Options.withPseudoName(value),
    Options.withDescription(`${meaning}; else ${name}`),
    Options.map((value): readonly [string, string] => [name, value]),
    Options.optional
  )

export const serve = (here: Here) =>
  Command.make(
    "serve",
    {
      host: override("host", "address", "HOST", "The address to listen on"),
      port: override("port", "number", "PORT", "The port to listen on, 0 for any free one"),
      dataDir: override("data-dir", "folder", "DATA_DIR", "Where the embedded database is kept")
    },
    (options) => here.serve(new Map([options.host, options.port, options.dataDir].flatMap(Option.toArray)))
  ).pipe(
    Command.withDescription(
      about("Run the server", {
        details:
          "It is told what to do by environment variables (docs/settings.md). Without any it keeps its own database and has a demo team, for trying out.",
        examples: [
          "webhook-trigger serve --port 8081",
          "DATABASE_URL=postgres://… AMQP_URL=amqp://… PUBLIC_URL=https://… ADMIN_API_KEY=… webhook-trigger serve"
        ]
      })
    )
  )

const team = Options.text("team").pipe(
  Options.withPseudoName("name"),
  Options.withDescription("The team that the program leads"),
  Options.mapTryCatch(...checked("--team", TeamName))
)
const amqpUrl = override(
  "amqp-url",
  "address",
  "AMQP_URL",
  "The message broker; the variable is better, no process list shows it"
)
const timeout = Options.text("timeout").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("End the program, and fail the run, after this time; else it may take as long as it likes"),
  Options.mapTryCatch(...checked("--timeout", whole(1, 86_400))),
  Options.optional
)

/** For help, and for those who forget the `--`: what stands behind it does not come this way. */
const forgotten = Args.text({ name: "program" }).pipe(
  Args.withDescription("The program and its arguments, untouched"),
  Args.repeated
)

export const leader = (here: Here, command: ReadonlyArray<string> | undefined) =>
  Command.make("leader", { team, timeout, amqpUrl, forgotten }, (options) =>
    Effect.gen(function* () {
      const [program, ...args] = command ?? []
      if (program === undefined || program === "" || options.forgotten.length > 0) {
        return yield* usage("say what to run after --, as in: webhook-trigger leader --team deploy -- my-agent --flag")
      }
      yield* here.leader({
        team: options.team,
        timeoutSeconds: options.timeout,
        command: [program, ...args],
        overrides: new Map(Option.toArray(options.amqpUrl))
      })
    })
  ).pipe(
    Command.withDescription(
      about("Lead a team with any program", {
        details:
          "For each prompt the program behind -- is started with the prompt on its standard input. What it prints is the answer; an exit code other than 0 is an error.",
        examples: [
          "webhook-trigger leader --team deploy -- my-agent --flag",
          "AMQP_URL=amqp://… webhook-trigger leader --team deploy --timeout 600 -- sh -c 'my-agent | tail -1'"
        ]
      })
    )
  )
