/** Any program as a team's leader: the prompt on its standard input, the answer from its standard output. */
import { accessSync, constants, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { Clock, DateTime, type Duration, Effect, Exit, Schema, type Scope } from "effect"
import type { LeaderBus, Prompt } from "../bus/Bus.ts"
import type { TeamName } from "../domain/Team.ts"
import * as TraceContext from "../telemetry/TraceContext.ts"
import * as Leader from "./Leader.ts"
import { runProgram } from "./Program.ts"
import type { SystemUser } from "./SystemUser.ts"

export interface CommandOptions {
  readonly team: TeamName
  /** A program's path, or a name to find in `PATH`. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** How long the program may take for one prompt; then its whole process group is ended. Absent: no limit. */
  readonly timeout?: Duration.DurationInput
  /** Environment variables that the program does not get, beside the keys to broker, database and server. */
  readonly withheld?: ReadonlyArray<string>
  /** Runs the program as this user, without its other groups; the leader must have been started as root. */
  readonly user?: SystemUser
  /** How long a prompt in work may go on after the leader was stopped; default 10 seconds. */
  readonly grace?: Duration.DurationInput
}

/** There is no such program, or it may not be run. */
export class ProgramMissing extends Schema.TaggedError<ProgramMissing>()("ProgramMissing", {
  command: Schema.String
}) {
  override get message() {
    return `There is no program "${this.command}" that can be run; give its path, or a name that is in PATH.`
  }
}

/**
 * Leads the team with the program until the scope closes.
 *
 * Then it takes no more work. The program in work may finish within the grace, and its answer is sent; after that it is
 * ended, and its prompt is delivered again, first.
 */
export const start = (options: CommandOptions): Effect.Effect<void, ProgramMissing, LeaderBus | Scope.Scope> =>
  Effect.zipRight(checkProgram(options.command), lead(options))

/** Leads the team with the program until interrupted, by SIGINT or SIGTERM for example. */
export const run = (options: CommandOptions): Effect.Effect<never, ProgramMissing, LeaderBus> =>
  Effect.scoped(Effect.zipRight(start(options), Effect.never))

/** Fails when the program cannot be run; `start` does this first. */
export const checkProgram = (command: string): Effect.Effect<void, ProgramMissing> =>
  canRun(command) ? Effect.void : new ProgramMissing({ command })

const lead = (options: CommandOptions) =>
  Leader.start({
    team: options.team,
    grace: options.grace ?? "10 seconds",
    handler: (prompt) =>
      logged(
        prompt,
        Effect.withFiberRuntime<string, Leader.LeaderError>((fiber) => {
          const traceparent = TraceContext.ofFiber(fiber) ?? prompt.traceparent
          return runProgram({ ...options, input: prompt.prompt, env: environment({ ...prompt, traceparent }, options) })
        })
      )
  })

/** One line for each prompt that was worked on, without its text or the answer, which are confidential. */
const logged = <A, E>(prompt: Prompt, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
    Effect.onExit(work, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) =>
        Effect.annotateLogs(Effect.logInfo("A prompt is finished"), {
          run_id: prompt.run_id,
          outcome: Exit.isSuccess(exit) ? "answered" : Exit.isInterrupted(exit) ? "cut short" : "failed",
          duration_ms: endedAt - startedAt
        })
      )
    )
  )

/** The environment variables with the keys to broker, database and server. */
export const keys = ["AMQP_URL", "DATABASE_URL", "ADMIN_API_KEY", "METRICS_TOKEN", "SECRETS_KEY", "WEBHOOK_TOKEN"]

/** What the program gets beside the prompt. */
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
