/** Commands that run in this process: the server, leaders, and what examines them. */
import { Effect, Option, Record } from "effect"
import { Argument, Flag } from "effect/cli"
import { type AgentName, agentNames } from "../domain/AgentName.ts"
import { TeamName } from "../domain/Team.ts"
import { type WorkspaceOption, workspaceOptions } from "../domain/WorkspaceOption.ts"
import { flags, urlOf } from "./Call.ts"
import { type Leaf, local } from "./Command.ts"
import { type Failure, usage } from "./Failure.ts"

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

type Override = readonly [name: string, value: string]

/** A flag that sets an environment variable. */
const override = (flag: string, value: string, name: string, meaning: string) =>
  Flag.String(flag).pipe(
    Flag.withMetavar(value),
    Flag.withDescription(`${meaning}; default: ${name}`),
    Flag.map((value): Override => [name, value]),
    Flag.optional
  )

/** A flag that may be given several times; its values are the lines of the variable. */
const repeated = (flag: string, value: string, name: string, meaning: string) =>
  Flag.String(flag).pipe(
    Flag.withMetavar(value),
    Flag.withDescription(`${meaning}; default: ${name}`),
    Flag.atLeast(0),
    Flag.map((values) => (values.length === 0 ? Option.none() : Option.some<Override>([name, values.join("\n")])))
  )

const text = (flag: string, value: string, about: string) =>
  Flag.String(flag).pipe(Flag.withMetavar(value), Flag.withDescription(about), Flag.optional)

const drain = override(
  "drain",
  "duration",
  "LEADER_DRAIN",
  "At SIGTERM, how long leaders may finish the run in hand; Ctrl-C gives 10 s at most"
)

const serve = ({ serve }: LocalCommands) =>
  local(
    "serve",
    {
      about: "Run the server",
      details:
        "Environment variables are the settings (docs/reference/settings.md). Without any, the server has an embedded database and a demo team to try it out.",
      examples: [
        "webhook-trigger serve --port 8081",
        "webhook-trigger serve --agent 'review=claude --permission-mode acceptEdits'",
        "webhook-trigger serve --leader 'review=my-agent --print'",
        "DATABASE_URL=postgres://… AMQP_URL=amqp://… PUBLIC_URL=https://… ADMIN_API_KEY=… webhook-trigger serve"
      ]
    },
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
        Flag.withoutNegation,
        Flag.withDescription(
          "After a restore of the database: send all runs in progress again, once; default: RESEND_RUNNING"
        ),
        Flag.map((): Override => ["RESEND_RUNNING", "true"]),
        Flag.optional
      )
    },
    (options) => serve(new Map(Object.values(options).flatMap(Option.toArray)))
  )

/** As in the settings, so that they are read in one place. */
const workspace = Record.map(workspaceOptions as Readonly<Record<string, WorkspaceOption>>, ({ help, value }, name) =>
  value === undefined
    ? Flag.Boolean(name).pipe(
        Flag.withoutNegation,
        Flag.withDescription(help),
        Flag.withDefault(false),
        Flag.map((isGiven) => (isGiven ? [`--${name}`] : []))
      )
    : Flag.String(name).pipe(
        Flag.withMetavar(value),
        Flag.withDescription(help),
        Flag.atLeast(0),
        Flag.map((values) => values.map((value) => `--${name}=${value}`))
      )
)

const words = (name: string, about: string) =>
  Argument.String(name).pipe(Argument.withDescription(about), Argument.variadic())

const leader = (commands: LocalCommands, rest: ReadonlyArray<string>) =>
  local(
    "leader",
    {
      about: "Lead a team with any program",
      details:
        "For each prompt, starts the program after --, with the prompt on its standard input. Its output is the answer. An exit code other than 0 is an error.",
      examples: [
        "webhook-trigger leader --team deploy -- my-agent --flag",
        "webhook-trigger leader --team review --agent claude -- --permission-mode acceptEdits",
        "webhook-trigger leader --url https://hooks.example.com --key-file review.key -- my-agent --print",
        "webhook-trigger leader --team deploy --amqp-url-file /etc/deploy.url --user agent -- my-agent",
        "AMQP_URL=amqp://… webhook-trigger leader --team deploy --timeout 600 -- sh -c 'my-agent | tail -1'"
      ]
    },
    {
      team: Flag.String("team").pipe(
        Flag.withMetavar("name"),
        Flag.withDescription("The team to lead; with --url, default: the team of the key"),
        Flag.withSchema(TeamName),
        Flag.optional
      ),
      agent: Flag.Literals("agent", agentNames).pipe(
        Flag.withDescription("Lead the team with this agent; words after -- are its options"),
        Flag.optional
      ),
      output: Flag.Literals("output", ["text", "json-lines"]).pipe(
        Flag.withDescription(
          "How the program prints its answer: text, or json-lines with the fields of a reply (docs/reference/amqp.md) on each line"
        ),
        Flag.withDefault("text")
      ),
      timeoutSeconds: Flag.Int("timeout").pipe(
        Flag.withMetavar("seconds"),
        Flag.withDescription("Terminate the program and fail the run after this time; default: no limit"),
        Flag.filter(
          (seconds) => seconds >= 1 && seconds <= 86_400,
          () => "a whole number from 1 to 86400"
        ),
        Flag.optional
      ),
      url: override(
        "url",
        "address",
        "LEADER_URL",
        "The server's address, to lead the team over HTTP without a broker"
      ),
      keyFile: text("key-file", "file", "With --url: a file with a leader key of the team; default: LEADER_KEY"),
      amqpUrl: override(
        "amqp-url",
        "address",
        "AMQP_URL",
        "The message broker's address; prefer a file or the variable, which are not visible in process lists"
      ),
      amqpUrlFile: text("amqp-url-file", "file", "A file with the message broker's address, instead of --amqp-url"),
      user: text(
        "user",
        "user[:group]",
        "Run the program as this user, without access to the leader's secrets; the leader must be started as root"
      ),
      drain,
      workspace,
      command: words("program", "The program and its arguments, after --")
    },
    Effect.fnUntraced(function* ({ amqpUrl, drain, url, workspace, ...options }) {
      const isWithout = Option.isNone(options.agent) && (options.command[0] ?? "") === ""
      if (isWithout || options.command.length > rest.length) {
        return yield* usage(
          "put the program after --, as in: webhook-trigger leader --team deploy -- my-agent --flag, or choose an --agent"
        )
      }
      if (Option.isSome(options.agent) && options.output === "json-lines") {
        return yield* usage("use either --agent or --output, not both")
      }
      if (Option.isSome(amqpUrl) && Option.isSome(options.amqpUrlFile)) {
        return yield* usage("use either --amqp-url or --amqp-url-file, not both")
      }
      if (Option.isSome(url) && (Option.isSome(amqpUrl) || Option.isSome(options.amqpUrlFile))) {
        return yield* usage("use either --url or the broker's address, not both")
      }
      yield* commands.leader({
        ...options,
        workspace: Object.values(workspace).flat(),
        overrides: new Map([amqpUrl, url, drain].flatMap(Option.toArray))
      })
    })
  )

const doctor = (commands: LocalCommands, rest: ReadonlyArray<string>) =>
  local(
    "doctor",
    {
      about: "Check that an agent works, or that the database and the broker do",
      details:
        "Says whether the agent's program is there, is signed in, and answers. It gets one small prompt in the current folder, which the model provider charges for. With --workspace, says whether git can read the repository and the folder can be written. Without --agent, says whether the database and the broker can be reached, the user is signed in and has the rights of a server, and the broker's queues are right; missing ones are declared.",
      examples: [
        "DATABASE_URL=postgres://… AMQP_URL=amqp://… webhook-trigger doctor",
        "webhook-trigger doctor --agent claude -- --permission-mode acceptEdits",
        "webhook-trigger doctor --agent claude --workspace git:https://github.com/acme/shop",
        "webhook-trigger doctor --agent openai -- --model gpt-5"
      ]
    },
    {
      agent: Flag.Literals("agent", agentNames).pipe(
        Flag.withDescription("The agent; words after -- are its options. Default: check DATABASE_URL and AMQP_URL"),
        Flag.optional
      ),
      workspace,
      options: words("options", "The agent's options, after --")
    },
    ({ agent, options, workspace }) =>
      options.length > rest.length
        ? Effect.fail(
            usage("put the agent's options after --, as in: webhook-trigger doctor --agent openai -- --model gpt-5")
          )
        : commands.doctor({ agent, options, workspace: Object.values(workspace).flat() })
  )

const supportBundle = (commands: LocalCommands) =>
  local(
    "support-bundle",
    {
      about: "Write a file with diagnostic data for support",
      details:
        "It has the version, the settings, the results of doctor, the server's health and metrics, and the state of the database. It has no prompts, answers, tokens, passwords or e-mail addresses. Run it with the server's environment.",
      examples: ["DATABASE_URL=postgres://… AMQP_URL=amqp://… webhook-trigger support-bundle -o bundle.tar.gz"]
    },
    {
      output: Flag.String("output").pipe(
        Flag.withAlias("o"),
        Flag.withMetavar("file"),
        Flag.withDescription("The output file; default: support-bundle.tar.gz"),
        Flag.withDefault("support-bundle.tar.gz")
      ),
      url: flags.url
    },
    ({ output, url }) => Effect.flatMap(urlOf(url), (url) => commands.supportBundle({ output, url }))
  )

/** `rest`: the words after `--`. */
export const localCommands = (commands: LocalCommands, rest: ReadonlyArray<string>): ReadonlyArray<Leaf> =>
  [serve, leader, doctor, supportBundle].map((command) => command(commands, rest))
