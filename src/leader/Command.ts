/** Any program as a team's leader. It reads the prompt from standard input and writes the answer to standard output. */
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { Clock, DateTime, type Duration, Effect, Exit, Schema, type Scope } from "effect"
import type { LeaderBus, Prompt } from "../bus/Bus.ts"
import type { TeamName } from "../domain/Team.ts"
import * as TraceContext from "../telemetry/TraceContext.ts"
import { type Agent } from "./agents/Agent.ts"
import { eventLines } from "./agents/EventLines.ts"
import { jsonLines } from "./agents/jsonLines.ts"
import * as Leader from "./Leader.ts"
import { type ProgramOptions, runProgram, wholeText } from "./Program.ts"
import type { SystemUser } from "./SystemUser.ts"

/** How a program prints its answer. */
export type CommandOutput = "text" | "json-lines" | Agent

export interface CommandOptions {
  readonly team: TeamName
  /** A path, or a name in `PATH`. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** How its output is read. Default: all of it is the answer. `json-lines`: a reply on each line. An agent: its events. */
  readonly output?: CommandOutput
  /** Time limit for one prompt. Then the whole process group is terminated. Default: no limit. */
  readonly timeout?: Duration.DurationInput
  /** Default: the folder of this process. */
  readonly folder?: string
  /** More environment variables to hide from the program, in addition to `keys`. */
  readonly withheld?: ReadonlyArray<string>
  /** Runs the program as this user, without supplementary groups. Needs root. */
  readonly user?: SystemUser
  /** How long a running program may continue after the leader is stopped. Default: 10 seconds. */
  readonly grace?: Duration.DurationInput
}

export class ProgramMissing extends Schema.TaggedError<ProgramMissing>()("ProgramMissing", {
  command: Schema.String
}) {
  override get message() {
    return `Cannot run "${this.command}": not found or not executable. Use a path or a name in PATH.`
  }
}

/**
 * Leads the team with the program until the scope closes.
 *
 * Then it accepts no further prompts. A running program may finish within the grace period, and its answer is sent.
 * Otherwise the program is terminated, and its prompt is redelivered first.
 */
export const start = (options: CommandOptions): Effect.Effect<void, ProgramMissing, LeaderBus | Scope.Scope> =>
  Effect.zipRight(checkProgram(options.command), lead(options))

/** Leads the team with the program until interrupted, for example by SIGTERM. */
export const run = (options: CommandOptions): Effect.Effect<never, ProgramMissing, LeaderBus> =>
  Effect.scoped(Effect.zipRight(start(options), Effect.never))

/** Fails if the program cannot be run. `start` calls it first. */
export const checkProgram = (command: string): Effect.Effect<void, ProgramMissing> =>
  canRun(command) ? Effect.void : new ProgramMissing({ command })

const lead = (options: CommandOptions) =>
  Leader.start({
    team: options.team,
    grace: options.grace ?? "10 seconds",
    handler: (prompt) =>
      logged(
        prompt,
        Effect.withFiberRuntime<Leader.LeaderAnswer, Leader.LeaderError>((fiber) => {
          const traceparent = TraceContext.ofFiber(fiber) ?? prompt.traceparent
          const env = environment({ ...prompt, traceparent }, options)
          return answerOf({ ...options, input: prompt.prompt, env }, options.output)
        })
      )
  })

/** Agents stop at Ctrl-C, as in a terminal. Some ignore it, and nobody waits for them. */
const stopAgent = { signal: "SIGINT", grace: "1 second" } as const

const answerOf = (
  program: ProgramOptions,
  output: CommandOutput = "text"
): Effect.Effect<Leader.LeaderAnswer, Leader.LeaderError> => {
  if (output === "text") return runProgram(program, wholeText())
  if (output === "json-lines") return runProgram(program, eventLines(jsonLines))
  return runProgram({ ...program, args: output.args(program.args), stop: stopAgent }, eventLines(output))
}

/** Logs one line per prompt, without the prompt or the answer, which are confidential. */
const logged = <A, E>(prompt: Prompt, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
    Effect.onExit(work, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) =>
        Effect.annotateLogs(Effect.logInfo("Prompt finished"), {
          run_id: prompt.run_id,
          outcome: Exit.isSuccess(exit) ? "answered" : Exit.isInterrupted(exit) ? "interrupted" : "failed",
          duration_ms: endedAt - startedAt
        })
      )
    )
  )

/** Environment variables with credentials for the broker, the database and the server. */
export const keys = ["AMQP_URL", "DATABASE_URL", "ADMIN_API_KEY", "METRICS_TOKEN", "SECRETS_KEY", "WEBHOOK_TOKEN"]

/** The program's environment. */
const environment = (
  prompt: Omit<Prompt, "traceparent"> & { readonly traceparent: string | undefined },
  { user, withheld = [] }: CommandOptions
): Readonly<Record<string, string | undefined>> => ({
  ...process.env,
  ...(user && { HOME: user.home, USER: user.name, LOGNAME: user.name }),
  ...Object.fromEntries([...keys, ...withheld].map((name) => [name, undefined])),
  TRACEPARENT: prompt.traceparent,
  WEBHOOK_RUN_ID: prompt.run_id,
  WEBHOOK_TEAM: prompt.team,
  WEBHOOK_SOURCE: prompt.source,
  WEBHOOK_ID: prompt.webhook?.id,
  WEBHOOK_NAME: prompt.webhook?.name,
  WEBHOOK_DEADLINE: prompt.deadline && DateTime.formatIso(prompt.deadline)
})

const canRun = (command: string): boolean => {
  const folders = command.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter)
  return folders.some((folder) => {
    const path = isAbsolute(command) || folder === "" ? command : join(folder, command)
    try {
      accessSync(path, constants.X_OK)
      const { mode } = statSync(path)
      // For root, access alone may allow any file.
      return (mode & constants.S_IFMT) === constants.S_IFREG && (mode & 0o111) !== 0
    } catch {
      return false
    }
  })
}
