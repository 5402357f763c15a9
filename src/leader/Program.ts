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
  /** Default: the folder of this process. */
  readonly folder?: string
  /** Default: the user of this process. */
  readonly user?: Pick<SystemUser, "uid" | "gid">
  /** The signal that asks the program to stop. After the grace, the rest is killed. Default: SIGTERM and 5 seconds. */
  readonly stop?: { readonly signal: NodeJS.Signals; readonly grace: Duration.DurationInput }
}

/** How a program ended. */
export interface Ending {
  /** `exit code 0`, `ended by SIGKILL`; `terminated`: its output was complete, but it did not end by itself. */
  readonly status: string
  /** The end of its standard error. */
  readonly errors: string
}

/** What reads a program's standard output. */
export interface Output<A> {
  /** Returns false when it can take no more; then the program is killed. */
  readonly write: (chunk: Buffer) => boolean
  /** Nothing more is needed, so the program has a moment left to end. */
  readonly isDone: () => boolean
  readonly result: (ending: Ending) => Effect.Effect<A, LeaderError>
}

/** How many bytes of standard error are kept, from its end. */
const maxErrors = 4096
const checkInterval = Duration.millis(20)
/** How long a remaining child process may keep the output open. */
const drainTimeout = "1 second"
/** How long a program may take to end once its output is complete. */
const endTimeout = "5 seconds"

/** The whole output, without one trailing newline. An exit code other than 0 is a failure with the end of the standard error. */
export const wholeText = (): Output<string> => {
  const chunks: Array<Buffer> = []
  let size = 0
  return {
    write: (chunk) => {
      size += chunk.length
      if (size <= maxAnswer) chunks.push(chunk)
      return size <= maxAnswer
    },
    isDone: () => false,
    result: ({ errors, status }) => {
      if (size > maxAnswer) return new LeaderError({ message: answerTooLarge })
      if (status !== "exit code 0") return new LeaderError({ message: errors === "" ? status : `${status}: ${errors}` })
      return Effect.succeed(
        Buffer.concat(chunks)
          .toString()
          .replace(/\r?\n$/, "")
      )
    }
  }
}

/**
 * Runs the program and returns what its output amounts to.
 *
 * The program has its own process group. When it ends, times out or is interrupted, the rest of the group is terminated.
 */
export const runProgram = <A>(options: ProgramOptions, output: Output<A>): Effect.Effect<A, LeaderError> => {
  const program = Effect.acquireUseRelease(
    start(options, output),
    (running) =>
      Effect.gen(function* () {
        const overdue = Effect.as(Effect.delay(running.done, endTimeout), "terminated")
        const status = yield* Effect.raceFirst(running.ended, overdue)
        if (status !== "terminated") yield* Effect.timeoutOption(running.drained, drainTimeout)
        return yield* output.result({ status, errors: running.errors() })
      }),
    (running) => endGroup(running, options)
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
  /** The end of its standard error. */
  readonly errors: () => string
  /** Completes with the exit code or the signal when the program ends. */
  readonly ended: Effect.Effect<string, LeaderError>
  /** Completes when its output is complete. */
  readonly done: Effect.Effect<void>
  /** Completes when no process keeps its output open. */
  readonly drained: Effect.Effect<void>
}

const start = (
  { args, command, env, folder, input, user }: ProgramOptions,
  output: Output<unknown>
): Effect.Effect<Running, LeaderError> =>
  Effect.try({
    try: () => {
      const child = spawn(command, args, {
        detached: true,
        ...(folder !== undefined && { cwd: folder }),
        env: env as NodeJS.ProcessEnv,
        stdio: "pipe",
        ...(user && { uid: user.uid, gid: user.gid })
      })
      const done = new Promise<void>((resolve) => {
        child.stdout.on("data", (chunk: Buffer) => {
          if (!output.write(chunk)) signal(child, "SIGKILL")
          if (output.isDone()) resolve()
        })
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
        errors: () => errors.toString().trim(),
        ended: Effect.tryPromise({ try: () => ended, catch: (error) => notStarted(command, error) }),
        done: Effect.promise(() => done),
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

const endGroup = (
  { child }: Running,
  { stop = { signal: "SIGTERM", grace: "5 seconds" } }: ProgramOptions
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!signal(child, stop.signal)) return
    const checks = Math.ceil(Duration.toMillis(stop.grace) / Duration.toMillis(checkInterval))
    yield* Effect.repeat(
      Effect.sync(() => signal(child, 0)),
      {
        schedule: Schedule.intersect(Schedule.spaced(checkInterval), Schedule.recurs(checks)),
        while: (isAlive) => isAlive
      }
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
