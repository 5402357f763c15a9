/**
 * Vitest's global set-up of the fault tests: the server that they start, as few files, since it starts hundreds of times. Each
 * run has its own, so that one does not replace what another starts.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { bundle } from "../../../build/bundle.mjs"

/** `<process>.js` and `<process>/` for each run. */
const folder = fileURLToPath(new URL("../../../.test-server", import.meta.url))

export default async (project) => {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) if (!isAlive(Number.parseInt(name, 10))) remove(name)
  const run = String(process.pid)
  await bundle(fileURLToPath(new URL("server.mjs", import.meta.url)), run, folder)
  project.provide("serverProgram", `${folder}/${run}.js`)
  return () => [run, `${run}.js`].forEach(remove)
}

const remove = (name) => rmSync(`${folder}/${name}`, { recursive: true, force: true })

const isAlive = (pid) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
