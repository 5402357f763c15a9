import { existsSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { PGlite } from "@electric-sql/pglite"
import { Effect, type Scope } from "effect"
import { type DataFolderUnusable, workOn } from "./DataFolder.ts"

/** The empty database that the build made, relative to the built program, the built library and the sources. */
const snapshot = ["../", "../../", "../../../dist/"]
  .map((path) => fileURLToPath(new URL(`${path}database/new.tar.gz`, import.meta.url)))
  .find(existsSync)

/** A new database; without the build's, PGlite makes its own, which takes seconds and twice the memory. */
const create = async (dataDir?: string): Promise<PGlite> =>
  PGlite.create({
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(snapshot === undefined ? {} : { loadDataDir: new Blob([await readFile(snapshot)]) })
  })

/** What a process that was killed while it made the database has left is no database: it is made anew. */
const openIn = async (folder: string): Promise<PGlite> => {
  const dataDir = join(folder, "database")
  const unfinished = join(folder, "database.unfinished")
  if (existsSync(unfinished)) await rm(dataDir, { recursive: true, force: true })
  else if (existsSync(dataDir)) return PGlite.create({ dataDir })
  await writeFile(unfinished, "")
  const db = await create(dataDir)
  await rm(unfinished)
  return db
}

/** PostgreSQL in this process: in `folder`, or in memory. */
export const open = (folder: string | undefined): Effect.Effect<PGlite, DataFolderUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    folder === undefined ? Effect.promise(() => create()) : workOn(folder, () => openIn(folder)),
    (db) => Effect.promise(() => db.close())
  )
