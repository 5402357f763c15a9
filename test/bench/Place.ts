/** Where a contender runs: a new folder, database and virtual host, and the programs started there. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { queryPostgres } from "../support/Postgres.ts"
import { type Daemon, startDaemon } from "../support/Process.ts"
import { createVhost, deleteVhost } from "../support/RabbitMq.ts"
import { until } from "../support/Until.ts"
import { type RedisServer, startRedis } from "./Redis.ts"
import { type RestateServer, startRestate } from "./Restate.ts"
import type { Services } from "./Services.ts"

export interface Place {
  readonly dir: string
  readonly database: string
  readonly databaseUrl: string
  readonly amqpUrl: string
  /** Starts a Node program, which is killed when the place is closed. */
  readonly node: (name: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => Daemon
  /** The last output of each program, for an error. */
  readonly output: () => string
  readonly redis: () => Promise<RedisServer>
  readonly restate: () => Promise<RestateServer>
  /** Stops all programs in place, or lets them go on. */
  readonly signal: (signal: "SIGSTOP" | "SIGCONT") => void
  readonly close: () => Promise<void>
}

let places = 0

export const openPlace = async ({ dir: base, postgres, rabbitmq }: Services): Promise<Place> => {
  const name = `turn_${++places}`
  const dir = join(base, name)
  mkdirSync(dir)
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  await queryPostgres(postgres.url, `create database ${name}`)
  const amqpUrl = await createVhost(rabbitmq.url, rabbitmq.managementUrl, name)
  const daemons: Array<Daemon> = []
  return {
    dir,
    database: name,
    databaseUrl: url.href,
    amqpUrl,
    node: (program, args, env) => {
      const folder = join(dir, program)
      mkdirSync(folder)
      const daemon = startDaemon(folder, process.execPath, args, {
        env: { PATH: process.env.PATH, NODE_ENV: "production", ...env },
        cwd: folder
      })
      daemons.push(daemon)
      return daemon
    },
    output: () =>
      readdirSync(dir)
        .map((name) => join(dir, name, "output.log"))
        .filter((file) => existsSync(file))
        .map((file) => `\n${basename(dirname(file))}: ${readFileSync(file, "utf8").slice(-2000)}`)
        .join(""),
    redis: async () => {
      const server = await startRedis(join(dir, "redis"))
      daemons.push(server)
      return server
    },
    restate: async () => {
      const server = await startRestate(join(dir, "restate-server"))
      daemons.push(server)
      return server
    },
    signal: (signal) => {
      for (const daemon of daemons) daemon.signal(signal)
    },
    close: async () => {
      await Promise.all(daemons.map((daemon) => daemon.stop("SIGKILL")))
      await queryPostgres(postgres.url, `drop database ${name} with (force)`)
      await deleteVhost(rabbitmq.managementUrl, name)
      await rm(dir, { recursive: true, force: true })
    }
  }
}

/** Waits until `url` answers with 2xx. Returns the seconds since `begin` (of `performance.now`). */
export const untilAnswers = async (daemon: Daemon, url: string, begin: number): Promise<number> => {
  const answers = async () => {
    if (!daemon.alive()) throw new Error(`the process for ${url} has ended`)
    return (await fetch(url).catch(() => undefined))?.ok
  }
  await until(`${url} answers`, answers, 60_000, 10)
  return (performance.now() - begin) / 1000
}
