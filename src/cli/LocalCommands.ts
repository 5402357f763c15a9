import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type AgentName, agentNames } from "../domain/AgentName.ts"
import { TeamName } from "../domain/Team.ts"
import { type WorkspaceOption, workspaceOptions } from "../domain/WorkspaceOption.ts"
import { url as serverUrl } from "./Connection.ts"
import { type Failure, usage } from "./Failure.ts"
import { about } from "./Help.ts"
import { validated, wholeNumber } from "./Validated.ts"

/** Environment variables set by command-line options. */
export type Overrides = ReadonlyMap<string, string>

/** The options of the `leader` command. */
export interface LeaderOptions {
  /** Over HTTP, default: the team of the key. */
  readonly team: Option.Option<TeamName>
  /** A time limit, after which the program is terminated and the run fails. */
  readonly timeoutSeconds: Option.Option<number>
  /** A file with the broker's address. */
  readonly amqpUrlFile: Option.Option<string>
  /** A file with the leader key, for a leader over HTTP. */
  readonly keyFile: Option.Option<string>
  /** The program's `user` or `user:group`. Default: the leader's user. */
  readonly user: Option.Option<string>
  /** Leads in place of a program; `command` then has its options. */
  readonly agent: Option.Option<AgentName>
  /** The program and its arguments, untouched. */
  readonly command: ReadonlyArray<string>
  /** How the program prints its answer. */
  readonly output: "text" | "json-lines"
  /** Words with the options of the workspace. */
  readonly workspace: ReadonlyArray<string>
  readonly overrides: Overrides
}

/** The options of the `doctor` command. */
export interface DoctorOptions {
  /** Default: the database and the broker of the settings are checked. */
  readonly agent: Option.Option<AgentName>
  /** The agent's options. */
  readonly options: ReadonlyArray<string>
  /** Options of its workspace. */
  readonly workspace: ReadonlyArray<string>
}

/** The options of the `support-bundle` command. */
export interface SupportOptions {
  readonly output: string
  /** The server's address. */
  readonly url: string
}

/** Commands that run in this process. `main.ts` provides them, so that their code is loaded only when needed. */
export interface LocalCommands {
  readonly serve: (overrides: Overrides) => Effect.Effect<void, Failure>
  readonly leader: (options: LeaderOptions) => Effect.Effect<void, Failure>
  readonly doctor: (options: DoctorOptions) => Effect.Effect<void, Failure>
  readonly supportBundle: (options: SupportOptions) => Effect.Effect<void, Failure>
}

const override = (option: string, value: string, name: string, meaning: string) =>
  Flag.String(option).pipe(
    Flag.withMetavar(value),
    Flag.withDescription(`${meaning}; default: ${name}`),
    Flag.map((value): readonly [string, string] => [name, value]),
    Flag.optional
  )

/** An option that may be given several times; its values are the lines of the variable. */
const repeated = (option: string, value: string, name: string, meaning: string) =>
  Flag.String(option).pipe(
    Flag.withMetavar(value),
    Flag.withDescription(`${meaning}; default: ${name}`),
    Flag.repeated,
    Flag.map((values) => (values.length === 0 ? Option.none() : Option.some([name, values.join("\n")] as const)))
  )

const drain = override(
  "drain",
  "duration",
  "LEADER_DRAIN",
  "At SIGTERM, how long leaders may finish the run in hand; Ctrl-C gives 10 s at most"
)

export const serve = (local: LocalCommands) =>
  Command.make(
    "serve",
    {
      host: override("host", "address", "HOST", "The address to listen on"),
      port: override("port", "number", "PORT", "The port to listen on, 0 for any free port"),
      dataDir: override("data-dir", "folder", "DATA_DIR", "The folder of the embedded database"),
      leader: repeated(
        "leader",
        "team=command",
        "LEADERS",
        "Lead this team in the server's process: the command runs for each prompt; with `--output json-lines` before it, it prints replies; may be repeated"
      ),
      agent: repeated(
        "agent",
        "team=agent",
        "AGENTS",
        `Lead this team with an agent in the server's process: ${agentNames.join(", ")}, and its options; may be repeated`
      ),
      leaderUser: override("leader-user", "user[:group]", "LEADER_USER", "Run the leaders' commands as this user"),
      drain,
      resendRunning: Flag.Boolean("resend-running").pipe(
        Flag.withDescription(
          "After a restore of the database: send all runs in progress again, once; default: RESEND_RUNNING"
        ),
        Flag.map((isGiven) => (isGiven ? Option.some(["RESEND_RUNNING", "true"] as const) : Option.none()))
      )
    },
    (options) => local.serve(new Map(Object.values(options).flatMap(Option.toArray)))
  ).pipe(
    Command.withDescription(
      about("Run the server", {
        details:
          "Environment variables are the settings (docs/reference/settings.md). Without any, the server has an embedded database and a demo team to try it out.",
        examples: [
          "webhook-trigger serve --port 8081",
          "webhook-trigger serve --agent 'review=claude --permission-mode acceptEdits'",
          "webhook-trigger serve --leader 'review=my-agent --print'",
          "DATABASE_URL=postgres://… AMQP_URL=amqp://… PUBLIC_URL=https://… ADMIN_API_KEY=… webhook-trigger serve"
        ]
      })
    )
  )

const team = Flag.String("team").pipe(
  Flag.withMetavar("name"),
  Flag.withDescription("The team to lead; with --url, default: the team of the key"),
  Flag.mapTryCatch(...validated("--team", TeamName)),
  Flag.optional
)
const url = override(
  "url",
  "address",
  "LEADER_URL",
  "The server's address, to lead the team over HTTP without a broker"
)
const keyFile = Flag.String("key-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("With --url: a file with a leader key of the team; default: LEADER_KEY"),
  Flag.optional
)
const agent = Flag.Choice("agent", agentNames).pipe(
  Flag.withDescription("Lead the team with this agent; words after -- are its options"),
  Flag.optional
)
const output = Flag.Choice("output", ["text", "json-lines"] as const).pipe(
  Flag.withDescription(
    "How the program prints its answer: text, or json-lines with the fields of a reply (docs/reference/amqp.md) on each line"
  ),
  Flag.withDefault("text" as const)
)
const amqpUrl = override(
  "amqp-url",
  "address",
  "AMQP_URL",
  "The message broker's address; prefer a file or the variable, which are not visible in process lists"
)
const amqpUrlFile = Flag.String("amqp-url-file").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("A file with the message broker's address, instead of --amqp-url"),
  Flag.optional
)
const user = Flag.String("user").pipe(
  Flag.withMetavar("user[:group]"),
  Flag.withDescription(
    "Run the program as this user, without access to the leader's secrets; the leader must be started as root"
  ),
  Flag.optional
)
const timeout = Flag.String("timeout").pipe(
  Flag.withMetavar("seconds"),
  Flag.withDescription("Terminate the program and fail the run after this time; default: no limit"),
  Flag.mapTryCatch(...validated("--timeout", wholeNumber(1, 86_400))),
  Flag.optional
)

/** As in the settings, so that they are read in one place. */
const workspace = Flag.all(
  Object.entries<WorkspaceOption>(workspaceOptions).map(([name, { help, value }]) =>
    value === undefined
      ? Flag.Boolean(name).pipe(
          Flag.withDescription(help),
          Flag.map((isGiven) => (isGiven ? [`--${name}`] : []))
        )
      : Flag.String(name).pipe(
          Flag.withMetavar(value),
          Flag.withDescription(help),
          Flag.repeated,
          Flag.map((values) => values.map((value) => `--${name}=${value}`))
        )
  )
).pipe(Flag.map((words) => words.flat()))

/** For the help, and for users who forget the `--`. Words after `--` are not parsed. */
const misplaced = Argument.String({ name: "program" }).pipe(
  Argument.withDescription("The program and its arguments"),
  Argument.repeated
)

export const leader = (local: LocalCommands, command: ReadonlyArray<string> | undefined) =>
  Command.make(
    "leader",
    { team, agent, output, timeout, url, keyFile, amqpUrl, amqpUrlFile, user, drain, workspace, misplaced },
    (options) =>
      Effect.gen(function* () {
        const words = command ?? []
        const isMissing = Option.isNone(options.agent) && (words[0] ?? "") === ""
        if (isMissing || options.misplaced.length > 0) {
          return yield* usage(
            "put the program after --, as in: webhook-trigger leader --team deploy -- my-agent --flag, or choose an --agent"
          )
        }
        if (Option.isSome(options.agent) && options.output === "json-lines") {
          return yield* usage("use either --agent or --output, not both")
        }
        if (Option.isSome(options.amqpUrl) && Option.isSome(options.amqpUrlFile)) {
          return yield* usage("use either --amqp-url or --amqp-url-file, not both")
        }
        if (Option.isSome(options.url) && (Option.isSome(options.amqpUrl) || Option.isSome(options.amqpUrlFile))) {
          return yield* usage("use either --url or the broker's address, not both")
        }
        yield* local.leader({
          team: options.team,
          timeoutSeconds: options.timeout,
          amqpUrlFile: options.amqpUrlFile,
          keyFile: options.keyFile,
          user: options.user,
          agent: options.agent,
          command: words,
          output: options.output,
          workspace: options.workspace,
          overrides: new Map([options.amqpUrl, options.url, options.drain].flatMap(Option.toArray))
        })
      })
  ).pipe(
    Command.withDescription(
      about("Lead a team with any program", {
        details:
          "For each prompt, starts the program after --, with the prompt on its standard input. Its output is the answer. An exit code other than 0 is an error.",
        examples: [
          "webhook-trigger leader --team deploy -- my-agent --flag",
          "webhook-trigger leader --team review --agent claude -- --permission-mode acceptEdits",
          "webhook-trigger leader --url https://hooks.example.com --key-file review.key -- my-agent --print",
          "webhook-trigger leader --team deploy --amqp-url-file /etc/deploy.url --user agent -- my-agent",
          "AMQP_URL=amqp://… webhook-trigger leader --team deploy --timeout 600 -- sh -c 'my-agent | tail -1'"
        ]
      })
    )
  )

export const doctor = (local: LocalCommands, words: ReadonlyArray<string> = []) =>
  Command.make(
    "doctor",
    {
      agent: Flag.Choice("agent", agentNames).pipe(
        Flag.withDescription("The agent; words after -- are its options. Default: check DATABASE_URL and AMQP_URL"),
        Flag.optional
      ),
      workspace
    },
    ({ agent, workspace }) => local.doctor({ agent, options: words, workspace })
  ).pipe(
    Command.withDescription(
      about("Check that an agent works, or that the database and the broker do", {
        details:
          "Says whether the agent's program is there, is signed in, and answers. It gets one small prompt in the current folder, which the model provider charges for. With --workspace, says whether git can read the repository and the folder can be written. Without --agent, says whether the database and the broker can be reached, the user is signed in and has the rights of a server, and the broker's queues are right; missing ones are declared.",
        examples: [
          "DATABASE_URL=postgres://… AMQP_URL=amqp://… webhook-trigger doctor",
          "webhook-trigger doctor --agent claude -- --permission-mode acceptEdits",
          "webhook-trigger doctor --agent claude --workspace git:https://github.com/acme/shop",
          "webhook-trigger doctor --agent openai -- --model gpt-5"
        ]
      })
    )
  )

export const supportBundle = (local: LocalCommands) =>
  Command.make(
    "support-bundle",
    {
      output: Flag.String("output").pipe(
        Flag.withAlias("o"),
        Flag.withMetavar("file"),
        Flag.withDescription("The output file; default: support-bundle.tar.gz"),
        Flag.withDefault("support-bundle.tar.gz")
      ),
      url: serverUrl
    },
    local.supportBundle
  ).pipe(
    Command.withDescription(
      about("Write a file with diagnostic data for support", {
        details:
          "It has the version, the settings, the results of doctor, the server's health and metrics, and the state of the database. It has no prompts, answers, tokens, passwords or e-mail addresses. Run it with the server's environment.",
        examples: ["DATABASE_URL=postgres://… AMQP_URL=amqp://… webhook-trigger support-bundle -o bundle.tar.gz"]
      })
    )
  )
