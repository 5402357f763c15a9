/** Child processes that a test can stop, kill, freeze and start again. */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { promisify } from "node:util"
import { until } from "./Until.ts"

export const exec = promisify(execFile)

/** A process running in the background; its id is in `<dir>/pid` while it lives, its output in `<dir>/output.log`. */
export interface Daemon {
  readonly pid: number
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>
  readonly alive: () => boolean
  readonly signal: (signal: NodeJS.Signals) => void
  /** Sends `signal`, after a minute SIGKILL, and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>
}

export const startDaemon = (
  dir: string,
  command: string,
  args: ReadonlyArray<string>,
  options: Pick<SpawnOptions, "env" | "uid" | "gid" | "cwd"> = {}
): Daemon => {
  const log = openSync(`${dir}/output.log`, "a")
  const child: ChildProcess = spawn(command, args, { ...options, detached: true, stdio: ["ignore", log, log] })
  closeSync(log)
  let ended = false
  const exited = new Promise<void>((resolve) => {
    const end = () => {
      ended = true
      rmSync(`${dir}/pid`, { force: true })
      resolve()
    }
    child.once("exit", end)
    child.once("error", end)
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`cannot start ${command}`)
  writeFileSync(`${dir}/pid`, String(pid))
  const signal = (name: NodeJS.Signals) => {
    if (!ended) process.kill(pid, name)
  }
  return {
    pid,
    exited,
    alive: () => !ended,
    signal,
    stop: async (name = "SIGTERM") => {
      signal(name)
      const killer = setTimeout(() => signal("SIGKILL"), 60_000)
      await exited
      clearTimeout(killer)
    }
  }
}

/**
 * Tries until it succeeds. Fails after `limit` milliseconds, or once the daemon has ended, with the daemon's output.
 */
export const untilReady = async (
  dir: string,
  daemon: Daemon,
  limit: number,
  attempt: () => Promise<unknown>
): Promise<void> => {
  let failure: unknown
  const ready = async () => {
    try {
      await attempt()
      return true
    } catch (error) {
      failure = error
      if (!daemon.alive()) throw new Error("the process has ended")
      return false
    }
  }
  try {
    await until("the process is ready", ready, limit, 50)
  } catch (error) {
    throw new Error(`${error}: ${failure}\n${readFileSync(`${dir}/output.log`, "utf8").slice(-4000)}`)
  }
}

/** Vitest's workers, which run test files side by side, and their parent: each has its own ports. */
const portsEach = 4_000
const firstPort = 10_240 + portsEach * (Number(process.env.VITEST_POOL_ID ?? 0) % 5)

/** Where this process begins: not where the previous process with this worker's ports began. */
let nextPort = process.pid * 97

/**
 * A TCP port on the loopback address on which no process listens now. Not one that the system gives to outgoing
 * connections, which could take it before it is used.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = firstPort + (nextPort++ % portsEach)
    if (await isFree(port)) return port
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

/**
 * Kills the processes under `dir` (by their `pid` files) and removes `dir` when this process ends, in any case: a shell
 * waits for the end of a pipe that only this process holds. The returned function does it now.
 */
export const cleanUpAtExit = (dir: string): (() => Promise<void>) => {
  const script = `cat; for f in "$0"/*/pid "$0"/*/*/pid; do [ -f "$f" ] && kill -9 "$(cat "$f")"; done; sleep 0.2; rm -rf "$0"`
  const watch = spawn("/bin/sh", ["-c", script, dir], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
  const done = new Promise<void>((resolve) => watch.once("exit", () => resolve()))
  watch.unref()
  // The pipe is a socket, whose type hides `unref`.
  ;(watch.stdin as any)?.unref?.()
  return async () => {
    watch.ref()
    watch.stdin?.end()
    await done
  }
}
