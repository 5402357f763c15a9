// Makes the database that an embedded one begins as, unless it is there: a first start takes a third of the time and half
// of the memory when PGlite need not make its own. Without the databases that others would be copied from it has a third of
// the files. Never with our tables in it: the secret that replies are signed with is made with them.
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../", import.meta.url))
const folder = `${root}dist/database`
const madeBy = `${folder}/version`
const script = createHash("sha256")
  .update(readFileSync(import.meta.filename))
  .digest("hex")
const { version } = JSON.parse(readFileSync(`${root}node_modules/@electric-sql/pglite/package.json`, "utf8"))
const wanted = `PGlite ${version}, ${script}`

if (!existsSync(madeBy) || readFileSync(madeBy, "utf8") !== wanted) {
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
