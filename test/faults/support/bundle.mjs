/**
 * Vitest's global set-up of the fault tests: the server that they start, as one file, since it starts hundreds of times. Each
 * run has its own, so that one does not replace what another starts. `load.cjs` loads it.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { bundleEvaluation } from "../../../build/bundle.mjs"

/** `<process>/` for each run. */
const folder = fileURLToPath(new URL("../../../.test-server", import.meta.url))

export default async (project) => {
  mkdirSync(folder, { recursive: true })
  for (const run of readdirSync(folder)) if (!isAlive(Number(run))) remove(run)
  const run = String(process.pid)
  // Servers in the tests' own process use the one of the build, which may be older than the sources.
  await bundleEvaluation()
  await build({
    entryPoints: [fileURLToPath(new URL("server.mjs", import.meta.url))],
    outfile: `${folder}/${run}/server.cjs`,
    bundle: true,
    platform: "node",
    target: "node20",
    // Of a script, unlike of a module, Node takes code that was compiled before.
    format: "cjs",
    external: ["@electric-sql/pglite"],
    define: { "import.meta.url": "urlOfBundle" },
    banner: { js: 'const urlOfBundle = require("node:url").pathToFileURL(__filename).href;' },
    logLevel: "warning"
  })
  project.provide("serverProgram", `${folder}/${run}/server.cjs`)
  return () => remove(run)
}

const remove = (run) => rmSync(`${folder}/${run}`, { recursive: true, force: true })

const isAlive = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
