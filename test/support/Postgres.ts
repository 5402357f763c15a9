/** A private PostgreSQL server from the installed binaries, for the whole test run or for one test that breaks it. */
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { type Daemon, exec, freePort, startDaemon, untilReady } from "./Process.ts"
import { command, pathOf, postgresUser } from "./System.ts"

export interface PostgresServer {
  /** Of the database `postgres`, as a superuser. */
  readonly url: string
  readonly port: number
  readonly pid: () => number
  /** Fast shutdown: sessions are cut, data is flushed. */
  readonly stop: () => Promise<void>
  /** kill -9 of the server. Commits must survive. */
  readonly kill: () => Promise<void>
  /** Immediate shutdown, as `pg_ctl stop -m immediate`: no flush, recovery at the next start. */
  readonly crash: () => Promise<void>
  /** Starts it again on the same port and data. */
  readonly start: () => Promise<void>
  /** SIGSTOP for the server and every session: connections stay open, but silent. */
  readonly pause: () => void
  readonly resume: () => void
}

/** The folder of the newest installed PostgreSQL's programs. */
export const postgresBin = (): string | undefined => {
  const base = "/usr/lib/postgresql"
  const debian = existsSync(pathOf(base))
    ? readdirSync(pathOf(base))
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => `${base}/${version}/bin`)
    : []
  return [...debian, ...(process.env.PATH ?? "").split(":")].find((dir) => existsSync(pathOf(join(dir, "initdb"))))
}

const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)

/** Creates a database cluster in `dir` and starts it; fsync is on, as in production, unless the settings say otherwise. */
export const startPostgres = async (options: {
  readonly dir: string
  readonly port?: number
  readonly settings?: Readonly<Record<string, string>>
}): Promise<PostgresServer> => {
  const bin = postgresBin()
  if (bin === undefined) throw new Error("PostgreSQL is not installed")
  const user = await postgresUser()
  const port = options.port ?? (await freePort())
  const data = join(options.dir, "data")
  mkdirSync(options.dir, { recursive: true })
  if (user) chownSync(options.dir, user.uid, user.gid)
  const env = { PATH: process.env.PATH, LC_ALL: "C.UTF-8", TZ: "UTC" }
  const init = ["-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
  if (!existsSync(data)) {
    const initdb = command(join(bin, "initdb"), init, user)
    await exec(initdb.program, [...initdb.args], { ...initdb.options, env, cwd: options.dir })
  }

  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "300",
    ...options.settings
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let daemon: Daemon
  const start = async () => {
    // A backend that outlives a killed server for a moment keeps the next one from starting.
    for (let attempt = 0; ; attempt++) {
      const server = command(join(bin, "postgres"), ["-D", data, ...args], user)
      daemon = startDaemon(options.dir, server.program, server.args, { ...server.options, env, cwd: options.dir })
      try {
        await untilReady(options.dir, daemon, 120_000, () => ping(url))
        return
      } catch (error) {
        await daemon.stop("SIGKILL")
        if (attempt === 20) throw error
      }
    }
  }
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of [daemon.pid, ...childrenOf(daemon.pid)]) {
      try {
        process.kill(pid, signal)
      } catch (error) {
        // A session may have ended in the meantime.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
      }
    }
  }
  await start()
  return {
    url,
    port,
    pid: () => daemon.pid,
    start,
    stop: () => daemon.stop("SIGINT"),
    kill: () => daemon.stop("SIGKILL"),
    crash: () => daemon.stop("SIGQUIT"),
    pause: () => signalAll("SIGSTOP"),
    resume: () => signalAll("SIGCONT")
  }
}

const ping = async (url: string) => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on("error", () => {})
  await client.connect()
  await client.end()
}

/** One statement over a connection of its own. */
export const queryPostgres = async (url: string, sql: string): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 60_000 })
  client.on("error", () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
