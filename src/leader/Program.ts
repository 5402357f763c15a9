/** One run of a program, with everything it starts, in bounded space and time. */
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
  /** Absent: this process's own. */
  readonly user?: Pick<SystemUser, "uid" | "gid">
}

/** How much of the end of the program's error output is kept, in bytes. */
const maxErrors = 4096
/** How long a process group has between SIGTERM and SIGKILL: 250 checks, one every 20 ms. */
const graceChecks = Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(250))
/** How long a process that the program left behind may hold its output open. */
const drainTimeout = "1 second"

/**
 * Runs the program and returns its output, without one newline at the end. A status other than 0 is a failure that shows
 * the end of what it wrote to its standard error.
 *
 * The program leads a process group of its own. Whatever of that group is left when it ends, times out or is interrupted
 * is ended: SIGTERM, then SIGKILL.
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
  /** The end of what it wrote to its standard error. */
  readonly errors: () => string
  readonly tooLarge: () => boolean
  /** Completes with the exit code or the signal when the program itself has ended. */
  readonly ended: Effect.Effect<string, LeaderError>
  /** Completes when no process holds its output open any longer. */
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
      // A program that does not read its input closes it: EPIPE.
      child.stdin.on("error", () => {})
      child.stdin.end(input)
      const ended = new Promise<string>((resolve, reject) => {
        child.once("error", reject)
        child.once("exit", (code, by) => resolve(code === null ? `ended by ${by}` : `exit code ${code}`))
      })
      const drained = new Promise<void>((resolve) => child.once("close", () => resolve()))
      // Awaited only later, or never.
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
        ? `there is no program ${command}`
        : `${command} could not be started: ${error instanceof Error ? error.message : error}`
  })

/** To the whole group; false when no process is left in it. */
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
