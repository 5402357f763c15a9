/** A program and its child processes: how they are started, and how all of them are ended. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { resolve as absolute } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { Duration, Effect, Schedule } from "effect"
import { LeaderError } from "./Leader.ts"
import type { SystemUser } from "./SystemUser.ts"

export interface ProcessOptions {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Default: the folder of this process. */
  readonly folder?: string
  /** Default: the user of this process. */
  readonly user?: Pick<SystemUser, "uid" | "gid">
}

/** The signal that asks the program to stop, and how long it has before the rest of the group is killed. */
export interface Stop {
  readonly signal: NodeJS.Signals
  readonly grace: Duration.DurationInput
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  /** The end of its standard error, without colours. */
  readonly errors: () => string
  /** Completes with the exit code or the signal when the program ends. */
  readonly ended: Effect.Effect<string, LeaderError>
  /** Completes when no process keeps its output open. */
  readonly drained: Effect.Effect<void>
}

/** How many bytes of standard error are kept, from its end. */
const maxErrors = 4096
const checkInterval = Duration.millis(20)

/** Starts the program in a process group of its own. */
export const start = ({ args, command, env, folder, user }: ProcessOptions): Effect.Effect<Running, LeaderError> =>
  Effect.try({
    try: () => {
      const child = spawn(command, args, {
        detached: true,
        ...(folder !== undefined && { cwd: folder }),
        // OpenCode works in the folder of this variable, which a new process inherits.
        env: { ...env, ...(folder !== undefined && { PWD: absolute(folder) }) } as NodeJS.ProcessEnv,
        stdio: "pipe",
        ...(user && { uid: user.uid, gid: user.gid })
      })
      let errors = Buffer.alloc(0)
      child.stderr.on("data", (chunk: Buffer) => {
        errors = Buffer.concat([errors, chunk]).subarray(-maxErrors)
      })
      // EPIPE, if the program closes its input without reading it.
      child.stdin.on("error", () => {})
      const ended = new Promise<string>((resolve, reject) => {
        child.once("error", reject)
        child.once("exit", (code, by) => resolve(code === null ? `ended by ${by}` : `exit code ${code}`))
      })
      const drained = new Promise<void>((resolve) => child.once("close", () => resolve()))
      // It may be awaited later or never.
      ended.catch(() => {})
      return {
        child,
        errors: () => stripVTControlCharacters(errors.toString()).trim(),
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
export const signal = ({ child }: Pick<Running, "child">, name: NodeJS.Signals | 0): boolean => {
  if (child.pid === undefined) return false
  try {
    return process.kill(-child.pid, name)
  } catch {
    return false
  }
}

/** Ends all that is left of the group. */
export const end = (running: Running, stop: Stop): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!signal(running, stop.signal)) return
    const checks = Math.ceil(Duration.toMillis(stop.grace) / Duration.toMillis(checkInterval))
    yield* Effect.repeat(
      Effect.sync(() => signal(running, 0)),
      {
        schedule: Schedule.intersect(Schedule.spaced(checkInterval), Schedule.recurs(checks)),
        while: (isAlive) => isAlive
      }
    )
    signal(running, "SIGKILL")
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        const { stderr, stdin, stdout } = running.child
        for (const stream of [stdout, stderr, stdin]) stream.destroy()
      })
    )
  )
