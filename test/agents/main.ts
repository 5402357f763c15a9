/**
 * Runs the presets with the real agent programs on a fake model (`Trial.ts`).
 *
 * `npm run test:agents` installs the programs into a temporary folder, on Linux: the versions that the presets were measured
 * with, and the newest. `-- --write` also records what they
 * print, which `npm test` replays. `-- --installed FOLDER` takes programs that are installed already, and further words are
 * the names of the only agents to try. With `claude`, the line of README.md that serves an agent is run, too, and with
 * `mcp` assistants call a webhook as a tool.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Effect, References } from "effect"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { exec } from "../support/Process.ts"
import { startFakeModel } from "./FakeModel.ts"
import { inspector, tryMcp } from "./McpTrial.ts"
import { tryReadmeLine } from "./ReadmeLine.ts"
import { newest, type RealAgent, realAgents } from "./RealAgents.ts"
import { type Trial, tryAgent } from "./Trial.ts"

const { positionals, values: options } = parseArgs({
  options: { write: { type: "boolean" }, installed: { type: "string" } },
  allowPositionals: true
})
const recorded = fileURLToPath(new URL("recorded/", import.meta.url))

const install = async (folder: string, agents: ReadonlyArray<RealAgent>, more: ReadonlyArray<string>) => {
  const packages = [...new Set([...agents.flatMap((agent) => agent.install), ...more])]
  console.log(`installing ${packages.join(" ")}`)
  await exec("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", ...packages])
  return folder
}

/** The newest version works in the background, and all else is recorded of the version that the preset was measured with. */
const recordOf = (name: string, isNewest: boolean) => (what: string, printed: string) => {
  if (isNewest !== (what === "background")) return
  const file = join(recorded, name, `${what}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, printed)
}

const main = async () => {
  const folder = mkdtempSync(join(tmpdir(), "agents-"))
  const model = await startFakeModel()
  try {
    const isWanted = (name: string) => positionals.length === 0 || positionals.includes(name)
    const wanted = Object.entries(realAgents).filter(([name]) => isWanted(name))
    const assistants = isWanted("mcp") ? [realAgents.claude, realAgents.codex] : []
    const modules =
      options.installed ??
      (await install(
        join(folder, "programs"),
        [...wanted.map(([, real]) => real), ...assistants],
        isWanted("mcp") ? inspector : []
      ))
    const attempt = async (name: string, trial: Omit<Trial, "model" | "folder">) => {
      const tried = tryAgent({ ...trial, model, folder: join(folder, name) })
      const shown = await Effect.runPromise(
        tried.pipe(
          Effect.scoped,
          Effect.provide(BusMemory.layer),
          Effect.provideService(References.MinimumLogLevel, "None"),
          Effect.timeout("15 minutes")
        )
      )
      console.log(name, JSON.stringify(shown))
    }
    for (const [name, real] of wanted) {
      await attempt(name, { real, modules, ...(options.write && { record: recordOf(name, false) }) })
    }
    // Users have the newest version.
    for (const [name, real] of options.installed === undefined ? wanted : []) {
      const latest = newest(real)
      await attempt(`${name}-newest`, {
        real: latest,
        modules: await install(join(folder, "newest", name), [latest], []),
        ...(options.write && { record: recordOf(name, true) })
      })
    }
    if (wanted.some(([name]) => name === "claude")) {
      console.log("README", JSON.stringify(await tryReadmeLine(model, modules, join(folder, "readme"))))
    }
    if (isWanted("mcp")) console.log("mcp", JSON.stringify(await tryMcp(model, modules, join(folder, "mcp"))))
  } finally {
    await model.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
process.exit(0)
