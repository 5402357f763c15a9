/**
 * `npm run test:node`: the tests of `npm test` on Node 22, 24 and 26, which the npm registry brings, on Linux. `npm run test:node -- 24
 * test/flow` selects a version and files. The first time downloads a version into a cache folder.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"

const versions = { 22: "22.23.3", 24: "24.22.3", 26: "26.12.1" }

const words = process.argv.slice(2)
const wanted = words.filter((word) => word in versions)
const files = words.filter((word) => !(word in versions))
const selected = files.length > 0 ? files : ["--project=daily*"]

/** Programs run as other users, too, who cannot read root's home folder. */
const caches = process.env.XDG_CACHE_HOME ?? (process.getuid?.() === 0 ? "/var/cache" : join(homedir(), ".cache"))

const install = (version) => {
  const name = `node-linux-${process.arch}`
  const cache = join(caches, "webhook-trigger", `node-${version}`)
  const folder = join(cache, "node_modules", name, "bin")
  if (!existsSync(join(folder, "node"))) {
    const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", cache]
    execFileSync("npm", ["install", ...options, `${name}@${version}`], { stdio: "inherit" })
  }
  return folder
}

let failed = false
for (const [major, version] of Object.entries(versions)) {
  if (wanted.length > 0 && !wanted.includes(major)) continue
  const folder = install(version)
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` }
  console.log(`\n=== Node ${execFileSync("node", ["--version"], { env, encoding: "utf8" }).trim()}`)
  const vitest = join(import.meta.dirname, "../../node_modules/vitest/vitest.mjs")
  const { status } = spawnSync(join(folder, "node"), [vitest, "run", ...selected], { stdio: "inherit", env })
  failed ||= status !== 0
}
process.exitCode = failed ? 1 : 0
