// Creates the database that new embedded databases are copied from. A first start takes a third of the time and half of
// the memory when PGlite need not create its own. Without the template databases, it has a third of the files. It never
// has our tables, because these include the secret that signs replies.
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { endsWith, hashOf, root } from "./sources.mjs"

const folder = `${root}dist/database`
const madeBy = `${folder}/version`
const wanted = hashOf(["node_modules/@electric-sql/pglite/package.json", "build/database.mjs"])

export const isCurrent = () => endsWith(madeBy, wanted)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { PGlite } = await import("@electric-sql/pglite")
  const db = await PGlite.create()
  for (const name of ["template0", "template1"]) {
    await db.query("update pg_database set datistemplate = false where datname = $1", [name])
    await db.query(`drop database ${name}`)
  }
  await db.query("checkpoint")
  const dump = await db.dumpDataDir("gzip")
  await db.close()
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/new.tar.gz.half`, Buffer.from(await dump.arrayBuffer()))
  renameSync(`${folder}/new.tar.gz.half`, `${folder}/new.tar.gz`)
  writeFileSync(madeBy, wanted)
}
