/** PgBouncer in front of a database server: as many providers have it. */
import { chownSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { queryPostgres } from "./Postgres.ts"
import { freePort, startDaemon, untilReady } from "./Process.ts"
import { temporaryFolder } from "./private.ts"
import { command, postgresUser } from "./System.ts"

/** The database's URL, through a pool. */
export const pgBouncer = (
  url: string,
  mode: "session" | "transaction" = "session"
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = join(yield* temporaryFolder, "pgbouncer")
    const user = yield* Effect.promise(postgresUser)
    const port = yield* Effect.promise(freePort)
    const server = new URL(url)
    const settings = [
      "[databases]",
      `* = host=${server.hostname} port=${server.port} user=${server.username}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      `pool_mode = ${mode}`
    ]
    mkdirSync(folder)
    writeFileSync(join(folder, "pgbouncer.ini"), settings.join("\n"))
    if (user) chownSync(folder, user.uid, user.gid)
    const { args, options, program } = command("/usr/sbin/pgbouncer", [join(folder, "pgbouncer.ini")], user)
    const daemon = yield* Effect.acquireRelease(
      Effect.sync(() => startDaemon(folder, program, args, options)),
      (daemon) => Effect.promise(() => daemon.stop("SIGKILL"))
    )
    const pooled = new URL(url)
    pooled.host = `127.0.0.1:${port}`
    yield* Effect.promise(() => untilReady(folder, daemon, 60_000, () => queryPostgres(pooled.href, "select 1")))
    return pooled.href
  })
