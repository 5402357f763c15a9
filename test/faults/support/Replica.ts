/** The built server as a child process: killed, frozen, stopped at an exact step, started again. */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync, openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { RacePoint } from "../../../src/engine/RacePoint.ts"
import { freePort } from "../../support/Process.ts"
import { until, within } from "./Until.ts"

export interface Arm {
  readonly point: RacePoint
  /** `hold`: stay there until released, or for ever. */
  readonly action: "hold" | "kill"
  /** At the how-manieth time that the point is reached. */
  readonly times: number
}

const entry = fileURLToPath(new URL("server.mjs", import.meta.url))

export class Replica {
  readonly url: string
  readonly log: string
  private readonly env: Record<string, string>
  private child: ChildProcess | undefined
  private ended: Promise<void> = Promise.resolve()
  private readonly reached: Array<RacePoint> = []

  private constructor(port: number, dir: string, env: Record<string, string>) {
    this.url = `http://127.0.0.1:${port}`
    this.log = join(dir, `server-${port}.log`)
    this.env = { ...env, HOST: "127.0.0.1", PORT: String(port) }
  }

  /** Not started yet. */
  static async make(dir: string, env: Record<string, string>): Promise<Replica> {
    return new Replica(await freePort(), dir, env)
  }

  get pid(): number {
    return this.child!.pid!
  }

  get alive(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  /** Starts it, on the same port as before, and waits until it is ready (`ready: false`: only until it lives). */
  async start(options: { readonly arms?: ReadonlyArray<Arm>; readonly ready?: boolean } = {}): Promise<void> {
    const out = openSync(this.log, "a")
    const child = fork(entry, [], {
      env: { PATH: process.env.PATH ?? "", ...this.env, RACE_POINTS: JSON.stringify(options.arms ?? []) },
      execArgv: (process.env.FAULT_EXEC_ARGV ?? "").split(" ").filter(Boolean),
      stdio: ["ignore", out, out, "ipc"]
    })
    this.child = child
    this.ended = new Promise((resolve) => child.once("exit", () => resolve()))
    child.on("error", () => {})
    child.on("message", (message: { readonly reached?: RacePoint }) => {
      if (message.reached) this.reached.push(message.reached)
    })
    if (options.ready !== false) await this.ready()
  }

  async ready(ms = 60_000): Promise<void> {
    const look = async () => {
      if (!this.alive) throw new Error(`the server ended\n${this.tail()}`)
      return (await this.health("ready")) === 200
    }
    await until("the server is ready", look, ms, 50)
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

  /** Arms a race point; done when the server knows of it. */
  arm(point: RacePoint, action: Arm["action"], times = 1): Promise<void> {
    return this.tell({ arm: { point, action, times } }, point)
  }

  /** Lets whatever is held at the point go on, and disarms it. */
  release(point: RacePoint): Promise<void> {
    return this.tell({ release: point }, point)
  }

  /** Resolves when something is held at the point, once for each time. */
  async held(point: RacePoint, ms = 30_000): Promise<void> {
    await until(`the server is held at "${point}"`, () => this.reached.includes(point), ms, 5)
    this.reached.splice(this.reached.indexOf(point), 1)
  }

  private tell(message: object, point: RacePoint): Promise<void> {
    const child = this.child!
    const told = new Promise<void>((resolve) => {
      const listen = (answer: { readonly done?: RacePoint }) => {
        if (answer.done !== point) return
        child.off("message", listen)
        resolve()
      }
      child.on("message", listen)
    })
    child.send(message)
    return within(10_000, `the server knows about "${point}"`, told)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.alive) process.kill(this.pid, signal)
  }

  /** Resolves when the process has ended by itself or by a signal that was sent. */
  exited(ms = 30_000): Promise<void> {
    return within(ms, "the server ends", this.ended)
  }

  /** kill -9, also when frozen. */
  async kill(): Promise<void> {
    this.signal("SIGKILL")
    await this.ended
  }

  /** SIGTERM; resolves when it has ended. */
  async stop(ms = 45_000): Promise<void> {
    this.signal("SIGTERM")
    await this.exited(ms)
  }

  /** The end of what it wrote. */
  tail(chars = 4000): string {
    return existsSync(this.log) ? readFileSync(this.log, "utf8").slice(-chars) : ""
  }
}
