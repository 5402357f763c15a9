import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { TeamName } from "../domain/Team.ts"
import { type Failure, usage } from "./Failure.ts"
import { about } from "./Help.ts"
import { validated, wholeNumber } from "./Validated.ts"

/** Environment variables that options of the command line have set. */
export type Overrides = ReadonlyMap<string, string>

/** The `leader` command's options; `command` is the program and its arguments, untouched. */
export interface LeaderOptions {
  readonly team: TeamName
  /** After this the program is ended and the run fails; absent: no limit. */
  readonly timeoutSeconds: Option.Option<number>
  /** Holds the broker's address. */
  readonly amqpUrlFile: Option.Option<string>
  /** `user` or `user:group` that the program runs as; absent: the leader's. */
  readonly user: Option.Option<string>
  readonly command: readonly [program: string, ...args: ReadonlyArray<string>]
  readonly overrides: Overrides
}

/**
 * Commands that run in this process and not against a server. `main.ts` passes them in, so that the code is loaded only
 * when it is needed.
 */
export interface LocalCommands {
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

/** An option that may be given several times; its values are the lines of the variable. */
const repeated = (option: string, value: string, name: string, meaning: string) =>
  Options.text(option).pipe(
    Options.withPseudoName(value),
    Options.withDescription(`${meaning}; else ${name}`),
    Options.repeated,
    Options.map((values) => (values.length === 0 ? Option.none() : Option.some([name, values.join("\n")] as const)))
  )

export const serve = (local: LocalCommands) =>
  Command.make(
    "serve",
    {
      host: override("host", "address", "HOST", "The address to listen on"),
      port: override("port", "number", "PORT", "The port to listen on, 0 for any free port"),
      workers: override("workers", "number", "WORKERS", "The processes that serve, or `auto` for one on each CPU core"),
      dataDir: override("data-dir", "folder", "DATA_DIR", "The folder of the embedded database"),
      leader: repeated(
        "leader",
        "team=command",
        "LEADERS",
        "Lead this team in the server's process: the command runs for each prompt; may be repeated"
      ),
      leaderUser: override("leader-user", "user[:group]", "LEADER_USER", "Run the leaders' commands as this user"),
      resendRunning: Options.boolean("resend-running").pipe(
        Options.withDescription(
          "Send everything in flight again, once: after the database was restored; else RESEND_RUNNING"
        ),
        Options.map((isGiven) => (isGiven ? Option.some(["RESEND_RUNNING", "true"] as const) : Option.none()))
      )
    },
    (options) => local.serve(new Map(Object.values(options).flatMap(Option.toArray)))
  ).pipe(
    Command.withDescription(
      about("Run the server", {
        details:
          "Environment variables are its settings (docs/settings.md). Without any it has a database of its own and a demo team, for trying out.",
        examples: [
          "webhook-trigger serve --port 8081",
          "webhook-trigger serve --leader 'review=my-agent --print'",
          "DATABASE_URL=postgres://… AMQP_URL=amqp://… PUBLIC_URL=https://… ADMIN_API_KEY=… webhook-trigger serve"
        ]
      })
    )
  )

const team = Options.text("team").pipe(
  Options.withPseudoName("name"),
  Options.withDescription("The team that the program leads"),
  Options.mapTryCatch(...validated("--team", TeamName))
)
const amqpUrl = override(
  "amqp-url",
  "address",
  "AMQP_URL",
  "The message broker; a file or the variable is better, as no process list shows it"
)
const amqpUrlFile = Options.text("amqp-url-file").pipe(
  Options.withPseudoName("file"),
  Options.withDescription("A file with the message broker's address, in place of --amqp-url"),
  Options.optional
)
const user = Options.text("user").pipe(
  Options.withPseudoName("user[:group]"),
  Options.withDescription(
    "Run the program as this user, who then cannot read what the leader knows; the leader must be started as root"
  ),
  Options.optional
)
const timeout = Options.text("timeout").pipe(
  Options.withPseudoName("seconds"),
  Options.withDescription("End the program, and fail the run, after this time; else there is no limit"),
  Options.mapTryCatch(...validated("--timeout", wholeNumber(1, 86_400))),
  Options.optional
)

/** For help, and for users who forget the `--`: words after it are not parsed. */
const misplaced = Args.text({ name: "program" }).pipe(
  Args.withDescription("The program and its arguments, untouched"),
  Args.repeated
)

export const leader = (local: LocalCommands, command: ReadonlyArray<string> | undefined) =>
  Command.make("leader", { team, timeout, amqpUrl, amqpUrlFile, user, misplaced }, (options) =>
    Effect.gen(function* () {
      const [program, ...args] = command ?? []
      if (program === undefined || program === "" || options.misplaced.length > 0) {
        return yield* usage("say what to run after --, as in: webhook-trigger leader --team deploy -- my-agent --flag")
      }
      if (Option.isSome(options.amqpUrl) && Option.isSome(options.amqpUrlFile)) {
        return yield* usage("give the broker's address with --amqp-url or with --amqp-url-file, not with both")
      }
      yield* local.leader({
        team: options.team,
        timeoutSeconds: options.timeout,
        amqpUrlFile: options.amqpUrlFile,
        user: options.user,
        command: [program, ...args],
        overrides: new Map(Option.toArray(options.amqpUrl))
      })
    })
  ).pipe(
    Command.withDescription(
      about("Lead a team with any program", {
        details:
          "For each prompt the program after -- is started with the prompt on its standard input. What it prints is the answer; an exit code other than 0 is an error.",
        examples: [
          "webhook-trigger leader --team deploy -- my-agent --flag",
          "webhook-trigger leader --team deploy --amqp-url-file /etc/deploy.url --user agent -- my-agent",
          "AMQP_URL=amqp://… webhook-trigger leader --team deploy --timeout 600 -- sh -c 'my-agent | tail -1'"
        ]
      })
    )
  )
