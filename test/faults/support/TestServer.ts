/** The built server as a child process: killed, frozen, stopped at a checkpoint, started again. */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { inject } from "vitest"
import type { Checkpoint } from "../../../src/engine/Checkpoints.ts"
import { freePort } from "../../support/Process.ts"
import { until, within } from "../../support/Until.ts"

const load = fileURLToPath(new URL("load.cjs", import.meta.url))

/** What a server that has reached a checkpoint does: it stays there until it is released, or kills itself. */
export type CheckpointAction = "hold" | "kill"

declare module "vitest" {
  export interface ProvidedContext {
    /** The bundled `server.mjs`, for `load.cjs`. */
    serverProgram: string
  }
}

export class TestServer {
  readonly url: string
  readonly log: string
  private readonly env: Record<string, string>
  private child: ChildProcess | undefined
  private ended: Promise<void> = Promise.resolve()
  private readonly reached: Array<Checkpoint> = []

  private constructor(port: number, dir: string, env: Record<string, string>) {
    this.url = `http://127.0.0.1:${port}`
    this.log = join(dir, `server-${port}.log`)
    this.env = { ...env, HOST: "127.0.0.1", PORT: String(port) }
  }

  /** Not started yet. */
  static async create(dir: string, env: Record<string, string>): Promise<TestServer> {
    return new TestServer(await freePort(), dir, env)
  }

  get pid(): number {
    return this.child!.pid!
  }

  get alive(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  /** Null: it runs, or was killed. */
  get exitCode(): number | null {
    return this.child!.exitCode
  }

  /** Starts it, on the same port as before, and waits until it is ready. */
  async start(): Promise<void> {
    const out = openSync(this.log, "a")
    const program = inject("serverProgram")
    const child = fork(load, [program], {
      env: { PATH: process.env.PATH ?? "", ...this.env },
      execArgv: (process.env.FAULT_EXEC_ARGV ?? "").split(" ").filter(Boolean),
      stdio: ["ignore", out, out, "ipc"]
    })
    this.child = child
    this.ended = new Promise((resolve) => child.once("exit", () => resolve()))
    child.on("error", () => {})
    child.on("message", (message: { readonly reached?: Checkpoint }) => {
      if (message.reached) this.reached.push(message.reached)
    })
    await this.ready()
    if (!existsSync(`${program}.compiled`)) await this.instruct({ keepCompiled: true }, "keepCompiled")
  }

  async ready(limit = 60_000): Promise<void> {
    const isReady = async () => {
      if (!this.alive) throw new Error(`the server ended\n${this.tail()}`)
      return (await this.health("ready")) === 200
    }
    await until("the server is ready", isReady, limit, 50)
  }

  /** The status of `/health/<which>`; 0: no answer. */
  async health(which: "live" | "ready"): Promise<number> {
    try {
      const answer = await fetch(`${this.url}/health/${which}`, { signal: AbortSignal.timeout(8000) })
      await answer.text()
      return answer.status
    } catch {
      return 0
    }
  }

  /** From now on the server does this at the checkpoint, once it has reached it `times` times. */
  at(point: Checkpoint, action: CheckpointAction, times = 1): Promise<void> {
    return this.instruct({ at: { point, action, times } }, point)
  }

  /** What is held at the checkpoint goes on, and nothing more is held there. */
  release(point: Checkpoint): Promise<void> {
    return this.instruct({ release: point }, point)
  }

  /** Resolves when something is held at the checkpoint, once for each time. */
  async held(point: Checkpoint, limit?: number): Promise<void> {
    await until(`the server is held at "${point}"`, () => this.reached.includes(point), limit, 5)
    this.reached.splice(this.reached.indexOf(point), 1)
  }

  /** Resolves when the server has confirmed the instruction. */
  private instruct(message: object, done: Checkpoint | "keepCompiled"): Promise<void> {
    const child = this.child!
    const confirmed = new Promise<void>((resolve) => {
      const listen = (answer: { readonly done?: Checkpoint | "keepCompiled" }) => {
        if (answer.done !== done) return
        child.off("message", listen)
        resolve()
      }
      child.on("message", listen)
    })
    child.send(message)
    return within(10_000, `the server confirms "${done}"`, confirmed)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.alive) process.kill(this.pid, signal)
  }

  /** Resolves when the process has ended by itself or by a signal that was sent. */
  exited(limit = 30_000): Promise<void> {
    return within(limit, "the server ends", this.ended)
  }

  /** kill -9, also when frozen. */
  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.ended
  }

  /** SIGTERM; resolves when it has ended. */
  async stop(limit = 45_000): Promise<void> {
    this.signal("SIGTERM")
    await this.exited(limit)
  }

  /** The whole log. */
  output(): string {
    return existsSync(this.log) ? readFileSync(this.log, "utf8") : ""
  }

  /** The end of the log. */
  tail(chars = 4000): string {
    return this.output().slice(-chars)
  }
}
