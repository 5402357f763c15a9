/** A program and its child processes: how they are started, and how all of them are ended. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { resolve as absolute, join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { type Duration, Effect, Option, Schedule } from "effect"
import { addGroup, bornAt, isGroupAlive, signalGroup } from "../runtime/Processes.ts"
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
  /** The folder in which running programs are remembered. Default: they are not. */
  readonly remembered?: string
}

/** The signal that asks the program to stop, and how long it has before the rest of the group is killed. */
export interface Stop {
  readonly signal: NodeJS.Signals
  readonly grace: Duration.Input
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly forget: () => void
  /** The end of its standard error, without colours. */
  readonly errors: () => string
  /** Completes with the exit code or the signal when the program ends. */
  readonly ended: Effect.Effect<string, LeaderError>
  /** Completes when no process keeps its output open. */
  readonly drained: Effect.Effect<void>
}

/** How many bytes of standard error are kept, from its end. */
const maxErrors = 4096
/** To see whether a group has ended takes longer the more processes the machine has. */
const checks = Schedule.min([Schedule.exponential("10 millis"), Schedule.spaced("250 millis")])

/** Starts the program in a process group of its own. */
export const start = ({
  args,
  command,
  env,
  folder,
  remembered,
  user
}: ProcessOptions): Effect.Effect<Running, LeaderError> =>
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
        forget: child.pid === undefined ? () => {} : remember(remembered, child.pid),
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
export const signal = ({ child }: Pick<Running, "child">, name: NodeJS.Signals): boolean =>
  child.pid !== undefined && signalGroup(child.pid, name)

/** Ends all that is left of the group. */
export const end = (running: Running, stop: Stop): Effect.Effect<void> =>
  endGroup(running.child.pid, stop).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        const { stderr, stdin, stdout } = running.child
        for (const stream of [stdout, stderr, stdin]) stream.destroy()
        running.forget()
      })
    )
  )

/** Processes that have ended stay in the group until they are waited for, which only some init processes do. */
const endGroup = (group: number | undefined, { grace, signal }: Stop): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (group === undefined || !signalGroup(group, signal)) return
    const isAlive = Effect.sync(() => isGroupAlive(group))
    yield* Effect.repeat(isAlive, { schedule: Schedule.upTo(checks, { duration: grace }), while: (isAlive) => isAlive })
    signalGroup(group, "SIGKILL")
  })

/** Remembers a program that has just started, in the folder if there is one. Returns what forgets it. */
const remember = (folder: string | undefined, pid: number): (() => void) => {
  // The group has the number of its first process.
  const remove = addGroup(pid)
  if (folder === undefined) return remove
  const file = join(folder, String(pid))
  const program: Remembered = { born: bornAt(pid), server: { pid: process.pid, born: bornAt(process.pid) } }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(file, JSON.stringify(program), { mode: 0o600 })
  } catch {
    // It matters only if this process crashes.
  }
  return () => {
    remove()
    rmSync(file, { force: true })
  }
}

interface Remembered {
  readonly born: string
  readonly server: { readonly pid: number; readonly born: string }
}

/** The boot at which a process was born. */
const bootOf = (born: string): string | undefined => born.split(" ")[0]

/** Whether a crashed process of this machine left the group. While a group lives, no process gets the number of one that has ended. */
const isLeft = (group: number, { born, server }: Remembered): boolean => {
  if (born === "" || bootOf(born) !== bootOf(bornAt(process.pid)) || bornAt(server.pid) === server.born) return false
  const now = bornAt(group)
  return now === born || (now === "" && isGroupAlive(group))
}

const readRemembered = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Remembered

/** Ends the programs that a crashed process has left at work, before others begin in the same folders. */
export const endLeft = (folder: string, stop: Stop): Effect.Effect<void> =>
  Effect.gen(function* () {
    const files = yield* Effect.orElseSucceed(
      Effect.try(() => readdirSync(folder)),
      () => []
    )
    const end = (name: string) =>
      Effect.gen(function* () {
        const file = join(folder, name)
        const remembered = yield* Effect.option(Effect.try(() => readRemembered(file)))
        const group = Number(name)
        if (Option.isSome(remembered) && isLeft(group, remembered.value)) {
          yield* Effect.logWarning(`process group ${group} was left at work by a server that ended, and is ended`)
          yield* endGroup(group, stop)
        }
        if (Option.isNone(remembered) || bornAt(remembered.value.server.pid) !== remembered.value.server.born)
          rmSync(file, { force: true })
      })
    yield* Effect.forEach(
      files.filter((name) => /^\d+$/.test(name)),
      end,
      { concurrency: "unbounded", discard: true }
    )
  })
