// Builds what `npm start` needs: side by side, and only what is not current. It says so, as that takes a while.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as bundle from "./bundle.mjs"
import * as database from "./database.mjs"
import * as ui from "./ui.mjs"

const parts = [
  { what: "the server", script: "./bundle.mjs", isCurrent: bundle.isCurrent() },
  { what: "the web UI", script: "./ui.mjs", isCurrent: ui.isCurrent() },
  { what: "the database", script: "./database.mjs", isCurrent: database.isCurrent() }
].filter(({ isCurrent }) => !isCurrent)

/** In a process of its own, which prints why it fails. */
const build = ({ script, what }) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fileURLToPath(new URL(script, import.meta.url))], { stdio: "inherit" })
    child.on("error", reject)
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${what} could not be built`))))
  })

if (parts.length > 0) {
  const begunAt = performance.now()
  const names = new Intl.ListFormat("en").format(parts.map(({ what }) => what))
  console.error(`Building ${names}: once, and again after changes. This may take half a minute.`)
  await Promise.all(parts.map(build))
  console.error(`Built in ${Math.round((performance.now() - begunAt) / 1_000)} s.`)
}
