import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gunzipSync } from "node:zlib"
import type { PGlite, PGliteOptions } from "@electric-sql/pglite"
import { Effect, type Scope } from "effect"
import { parseTar } from "nanotar"
import { type DataFolderUnusable, workOn } from "./DataFolder.ts"

/** The empty database that the build made, relative to the built program, and to the library and the sources. */
const snapshot = ["../", "../../../../dist/"]
  .map((path) => fileURLToPath(new URL(`${path}database/new.tar.gz`, import.meta.url)))
  .find(existsSync)

/** Loaded here: a server on PostgreSQL does without. */
const start = async (options: PGliteOptions): Promise<PGlite> =>
  (await import("@electric-sql/pglite")).PGlite.create(options)

/** A new database in memory; without the build's, PGlite makes its own, which takes seconds and twice the memory. */
const create = async (): Promise<PGlite> =>
  start(snapshot === undefined ? {} : { loadDataDir: new Blob([await readFile(snapshot)]) })

/** PGlite would unpack it as well, but through a file system of its own: that is two thirds of the computing of a first start. */
const unpack = async (archive: string, folder: string): Promise<void> => {
  mkdirSync(folder)
  for (const { name, type, data } of parseTar(gunzipSync(await readFile(archive)))) {
    const path = join(folder, name)
    if (type === "directory") mkdirSync(path, { recursive: true })
    else writeFileSync(path, data ?? "")
  }
}

/** What a process that was killed while it made the database has left is no database: it is made anew. */
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
