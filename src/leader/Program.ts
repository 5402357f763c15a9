/** Runs a program and its child processes with limits on output and time. */
import { type ChildProcess, spawn } from "node:child_process"
import { Duration, Effect, Option, Schedule } from "effect"
import { answerTooLarge, maxAnswer } from "../bus/Replies.ts"
import { LeaderError } from "./Leader.ts"
import type { SystemUser } from "./SystemUser.ts"

export interface ProgramOptions {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly input: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeout?: Duration.DurationInput
  /** Default: the user of this process. */
  readonly user?: Pick<SystemUser, "uid" | "gid">
}

/** How many bytes of standard error are kept, from its end. */
const maxErrors = 4096
/** The time between SIGTERM and SIGKILL: 250 checks, one every 20 ms. */
const graceChecks = Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(250))
/** How long a remaining child process may keep the output open. */
const drainTimeout = "1 second"

/**
 * Runs the program and returns its output, without one trailing newline. An exit code other than 0 is a failure with the
 * end of the standard error.
 *
 * The program has its own process group. When it ends, times out or is interrupted, the rest of the group is terminated
 * with SIGTERM, then SIGKILL.
 */
export const runProgram = (options: ProgramOptions): Effect.Effect<string, LeaderError> => {
  const program = Effect.acquireUseRelease(
    start(options),
    (running) =>
      Effect.gen(function* () {
        const status = yield* running.ended
        yield* Effect.timeoutOption(running.drained, drainTimeout)
        const errors = running.errors()
        if (running.tooLarge()) return yield* new LeaderError({ message: answerTooLarge })
        if (status !== "exit code 0") {
          return yield* new LeaderError({ message: errors === "" ? status : `${status}: ${errors}` })
        }
        return Buffer.concat(running.output)
          .toString()
          .replace(/\r?\n$/, "")
      }),
    endGroup
  )
  if (options.timeout === undefined) return program
  const timeout = Duration.decode(options.timeout)
  return Effect.flatMap(Effect.timeoutOption(program, timeout), (answer) =>
    Option.isSome(answer)
      ? Effect.succeed(answer.value)
      : new LeaderError({ message: `${options.command} did not finish within ${Duration.format(timeout)}` })
  )
}

interface Running {
  readonly child: ChildProcess
  readonly output: Array<Buffer>
  /** The end of its standard error. */
  readonly errors: () => string
  readonly tooLarge: () => boolean
  /** Completes with the exit code or the signal when the program ends. */
  readonly ended: Effect.Effect<string, LeaderError>
  /** Completes when no process keeps its output open. */
  readonly drained: Effect.Effect<void>
}

const start = ({ args, command, env, input, user }: ProgramOptions): Effect.Effect<Running, LeaderError> =>
  Effect.try({
    try: () => {
      const child = spawn(command, args, {
        detached: true,
        env: env as NodeJS.ProcessEnv,
        stdio: "pipe",
        ...(user && { uid: user.uid, gid: user.gid })
      })
      const output: Array<Buffer> = []
      let size = 0
      child.stdout.on("data", (chunk: Buffer) => {
        size += chunk.length
        if (size <= maxAnswer) output.push(chunk)
        else signal(child, "SIGKILL")
      })
      let errors = Buffer.alloc(0)
      child.stderr.on("data", (chunk: Buffer) => {
        errors = Buffer.concat([errors, chunk]).subarray(-maxErrors)
      })
      // EPIPE, if the program closes its input without reading it.
      child.stdin.on("error", () => {})
      child.stdin.end(input)
      const ended = new Promise<string>((resolve, reject) => {
        child.once("error", reject)
        child.once("exit", (code, by) => resolve(code === null ? `ended by ${by}` : `exit code ${code}`))
      })
      const drained = new Promise<void>((resolve) => child.once("close", () => resolve()))
      // It may be awaited later or never.
      ended.catch(() => {})
      return {
        child,
        output,
        errors: () => errors.toString().trim(),
        tooLarge: () => size > maxAnswer,
        ended: Effect.tryPromise({ try: () => ended, catch: (error) => notStarted(command, error) }),
        drained: Effect.promise(() => drained)
      }
    },
    catch: (error) => notStarted(command, error)
  })

const notStarted = (command: string, error: unknown) =>
  new LeaderError({
    message:
      error instanceof Error && "code" in error && error.code === "ENOENT"
        ? `program not found: ${command}`
        : `${command} could not be started: ${error instanceof Error ? error.message : error}`
  })

/** Signals the whole group. Returns false if the group is empty. */
const signal = (child: ChildProcess, name: NodeJS.Signals | 0): boolean => {
  if (child.pid === undefined) return false
  try {
    return process.kill(-child.pid, name)
  } catch {
    return false
  }
}

const endGroup = ({ child }: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!signal(child, "SIGTERM")) return
    yield* Effect.repeat(
      Effect.sync(() => signal(child, 0)),
      { schedule: graceChecks, while: (isAlive) => isAlive }
    )
    signal(child, "SIGKILL")
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        child.stdout?.destroy()
        child.stderr?.destroy()
        child.stdin?.destroy()
      })
    )
  )
