/** The built program as a user runs it. `npm test` builds it first. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Array as Arr, Effect, type Scope } from "effect"
import { onTestFailed, TestRunner } from "vitest"
import { temporaryFolder } from "../support/private.ts"

export const program = fileURLToPath(new URL("../../dist/main.js", import.meta.url))

/**
 * Node's arguments. The embedded database's WebAssembly is compiled quickly and not optimized as well: that takes as much
 * computing as all the rest of a start, and a test's server has ended before it gains anything.
 */
const words = ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering", program]

type Variables = Readonly<Record<string, string>>

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A process, and what it has written so far. */
class Process {
  stdout = ""
  stderr = ""
  readonly child: ChildProcess
  readonly ended: Promise<Ended>

  /** `detached`: the leader of a group of its own, to which all that it starts belongs. */
  constructor(
    command: string,
    args: ReadonlyArray<string>,
    variables: Variables,
    { detached = false, stdin = "ignore" }: { readonly detached?: boolean; readonly stdin?: "ignore" | "pipe" } = {}
  ) {
    this.child = spawn(command, args, {
      env: { PATH: process.env.PATH, ...variables },
      stdio: [stdin, "pipe", "pipe"],
      detached
    })
    this.child.stdout!.on("data", (chunk) => (this.stdout += chunk))
    this.child.stderr!.on("data", (chunk) => (this.stderr += chunk))
    this.ended = new Promise((resolve) =>
      this.child.once("close", (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr }))
    )
  }

  /** Resolves with the pattern's match on standard output; fails when the process ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = pattern.exec(this.stdout)
        if (found) resolve(found)
      }
      this.child.stdout!.on("data", check)
      this.ended.then(() => reject(new Error(`ended without ${pattern}:\n${this.stdout}\n${this.stderr}`)))
      check()
    })
  }

  async end(signal: NodeJS.Signals): Promise<Ended> {
    this.child.kill(signal)
    return this.ended
  }
}

/** Runs one command line to its end. */
export const run = (args: ReadonlyArray<string>, variables: Variables = {}): Effect.Effect<Ended> =>
  Effect.promise(() => new Process(process.execPath, [...words, ...args], variables).ended)

export interface Started {
  readonly pid: number
  readonly ended: Effect.Effect<Ended>
  /** The pattern's match on standard output, once there is one. */
  readonly waitFor: (pattern: RegExp) => Effect.Effect<RegExpExecArray>
  readonly end: (signal: NodeJS.Signals) => Effect.Effect<Ended>
}

/** Starts one command line; it is killed when the scope closes. */
export const start = (args: ReadonlyArray<string>, variables: Variables): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Process(process.execPath, [...words, ...args], variables)),
      (process) => Effect.promise(() => process.end("SIGKILL"))
    ),
    (process) => ({
      pid: process.child.pid!,
      ended: Effect.promise(() => process.ended),
      waitFor: (pattern) => Effect.promise(() => process.waitFor(pattern)),
      end: (signal) => Effect.promise(() => process.end(signal))
    })
  )

/** Runs a line in a shell, as a user would who pastes it. */
export const shell = (line: string): Effect.Effect<Ended> =>
  Effect.promise(() => new Process("/bin/sh", ["-c", line], {}).ended)

/** Runs one command line on a terminal of this width. */
export const onWideTerminal = (
  columns: number,
  args: ReadonlyArray<string>,
  variables: Variables
): Effect.Effect<Ended> => {
  const line = [process.execPath, ...words, ...args].map((word) => `'${word}'`).join(" ")
  const command = ["-qec", `stty cols ${columns}; exec ${line}`, "/dev/null"]
  return Effect.promise(() => new Process("script", command, { SHELL: "/bin/sh", ...variables }).ended)
}

/** A question of a command, as it stands on the terminal. */
const question = /\[y\/N\]/

/**
 * Runs one command line on a terminal (util-linux's `script`). When it asks, `answer` is typed, or called with the id of
 * the process.
 */
export const onTerminal = (
  answer: string | ((pid: number) => void),
  args: ReadonlyArray<string>,
  variables: Variables,
  asks = question
): Effect.Effect<Ended> => {
  const line = [process.execPath, ...words, ...args].map((word) => `'${word}'`).join(" ")
  return Effect.promise(async () => {
    const command = ["-qec", `echo process $$; exec ${line}`, "/dev/null"]
    const terminal = new Process("script", command, { SHELL: "/bin/sh", ...variables }, { stdin: "pipe" })
    const [, pid] = await terminal.waitFor(/process (\d+)\s/)
    await terminal.waitFor(asks)
    if (typeof answer === "string") terminal.child.stdin!.write(answer)
    else answer(Number(pid))
    return terminal.ended
  })
}

export interface Server {
  readonly url: string
  readonly pid: number
  /** Standard output: what the start printed. */
  readonly welcome: () => string
  readonly log: () => string
  /** False: it has ended. */
  readonly signal: (signal: NodeJS.Signals) => boolean
  readonly end: (signal: NodeJS.Signals) => Effect.Effect<Ended>
}

/** Shows the end of its log if the test that has started it fails. */
const showIfFailed = (process: Process): void => {
  if (TestRunner.getCurrentTest() !== undefined) onTestFailed(() => console.error(process.stderr.slice(-8_000)))
}

/** A port that is free, unless the test says which. */
const address = { HOST: "127.0.0.1", PORT: "0" }

/** Where the server listens, once it reports that it is running. */
const running = async (server: Process): Promise<string> => {
  const [, url] = await server.waitFor(/Web UI and API +([^\s\\]+)\/[\s\\][\s\S]*\n$/)
  return url!
}

/** Starts `serve` on a free port and waits until it reports that it is running. */
export const serve = (
  variables: Variables,
  options: ReadonlyArray<string> = []
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = new Process(process.execPath, [...words, "serve", ...options], { ...address, ...variables })
        showIfFailed(server)
        return { server, url: await running(server) }
      }),
      ({ server }) => Effect.promise(() => server.end("SIGKILL"))
    ),
    ({ server, url }) => ({
      url,
      pid: server.child.pid!,
      welcome: () => server.stdout,
      log: () => server.stderr,
      signal: (signal) => server.child.kill(signal),
      end: (signal) => Effect.promise(() => server.end(signal))
    })
  )

/** A server that was started by another program. */
export interface StartedServer {
  readonly url: string
  /** The process that was started, to which signals are sent. */
  readonly child: ChildProcess
  /** Its exit code; what it has started may live on. */
  readonly exitCode: Effect.Effect<number | null>
}

/** Starts the server with another command, in this repository's folder. When the scope closes nothing of it is left. */
export const serveBy = (
  [command, ...args]: Arr.NonEmptyReadonlyArray<string>,
  variables: Variables
): Effect.Effect<StartedServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => new Process(command, args, { ...address, ...variables }, { stdin: "pipe", detached: true })),
      ({ child, ended }) =>
        Effect.promise(() => {
          killGroup(child.pid!)
          return ended
        })
    )
    const { child } = server
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve))
    const url = yield* Effect.promise(() => running(server))
    return { url, child, exitCode: Effect.promise(() => exited) }
  })

const killGroup = (leader: number): void => {
  try {
    process.kill(-leader, "SIGKILL")
  } catch {
    // All of it has ended.
  }
}

/** Starts the `leader` command; `log` is what it has written so far. */
export const lead = (
  args: ReadonlyArray<string>,
  variables: Variables
): Effect.Effect<Pick<Server, "log" | "end">, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Process(process.execPath, [...words, "leader", ...args], variables)),
      (leader) => Effect.promise(() => leader.end("SIGKILL"))
    ),
    (leader) => ({ log: () => leader.stderr, end: (signal) => Effect.promise(() => leader.end(signal)) })
  )

/** A folder that does not exist yet, removed at the end. */
export const newFolder: Effect.Effect<string, never, Scope.Scope> = Effect.map(temporaryFolder, (folder) =>
  join(folder, "data")
)
