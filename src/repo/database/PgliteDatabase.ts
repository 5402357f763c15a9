import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import type { PGlite, PGliteOptions } from "@electric-sql/pglite"
import { Context, Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { parseTar } from "nanotar"
import { type DataFolderUnusable, workOn } from "./DataFolder.ts"
import { makeClient, planSettings } from "./Driver.ts"
import { migrate } from "./Migrations.ts"
import { channel, makeListeners, Notifications } from "./Notifications.ts"
import { PgliteSocket, type PgliteSocketOptions } from "./PgliteSocket.ts"
import * as Refusals from "./Refusals.ts"

/** The empty database made by the build, relative to the built program, to the library and to the sources. */
const snapshot = ["../", "../../../dist/"]
  .map((path) => fileURLToPath(new URL(`${path}database/new.tar.gz`, import.meta.url)))
  .find(existsSync)

/** Loaded here, since a server on PostgreSQL does not need it. */
const start = async (options: PGliteOptions): Promise<PGlite> =>
  (await import("@electric-sql/pglite")).PGlite.create(options)

/** A new database in memory. Without the build's, PGlite creates one, which takes seconds and twice the memory. */
const create = async (): Promise<PGlite> =>
  start(snapshot === undefined ? {} : { loadDataDir: new Blob([await readFile(snapshot)]) })

/** PGlite would also unpack it, but through its own file system: two thirds of the CPU time of a first start. */
const unpack = async (archive: string, folder: string): Promise<void> => {
  mkdirSync(folder)
  for (const { name, type, data } of parseTar(gunzipSync(await readFile(archive)))) {
    const path = join(folder, name)
    if (type === "directory") mkdirSync(path, { recursive: true })
    else writeFileSync(path, data ?? "")
  }
}

/** A database that a killed process did not complete is created anew. */
const openIn = async (folder: string): Promise<PGlite> => {
  const dataDir = join(folder, "database")
  const unfinished = join(folder, "database.unfinished")
  if (existsSync(unfinished)) await rm(dataDir, { recursive: true, force: true })
  else if (existsSync(dataDir)) return start({ dataDir })
  await writeFile(unfinished, "")
  if (snapshot !== undefined) await unpack(snapshot, dataDir)
  const db = await start({ dataDir })
  await rm(unfinished)
  return db
}

/** PostgreSQL in this process: in `folder`, or in memory. */
export const open = (folder: string | undefined): Effect.Effect<PGlite, DataFolderUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    folder === undefined ? Effect.promise(() => create()) : workOn(folder, () => openIn(folder)),
    (db) => Effect.promise(() => db.close())
  )

/**
 * A migrated database in this process, until the scope closes. It has one session: a transaction excludes all other
 * statements until it ends. Without limits of time: their timers fire between two statements, where they end none that takes
 * long, but may cancel the next one.
 */
export const connect = Effect.fnUntraced(function* (db: PGlite, options: Pick<PgliteSocketOptions, "before"> = {}) {
  const listeners = makeListeners()
  const socket = new PgliteSocket(db, { ...options, notify: listeners.notify })
  const { ended } = yield* Refusals.make
  const session = { config: { username: "postgres", ssl: false }, connect: () => socket, settings: planSettings, ended }
  // Kept for as long as the database: there is no other.
  const { sql } = yield* makeClient({ ...session, min: 1, max: 1 }, "pglite")
  yield* Effect.orDie(Effect.provideService(migrate, SqlClient.SqlClient, sql))
  yield* Effect.orDie(sql`listen ${sql.literal(channel)}`)
  // The database is this process's alone.
  const deliver = (payload: string) => {
    listeners.notify(payload)
    return true
  }
  return {
    socket,
    services: Context.make(SqlClient.SqlClient, sql).pipe(
      Context.add(Notifications, { listen: listeners.listen, deliver })
    )
  }
})
