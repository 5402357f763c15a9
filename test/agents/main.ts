/**
 * Runs the presets with the real agent programs on a fake model (`Trial.ts`).
 *
 * `npm run test:agents` installs the programs into a temporary folder, on Linux. `-- --write` also records what they
 * print, which `npm test` replays. `-- --installed FOLDER` takes programs that are installed already, and further words are
 * the names of the only agents to try. With `claude`, the line of README.md that serves an agent is run, too, and with
 * `mcp` assistants call a webhook as a tool.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { Effect, Logger, LogLevel } from "effect"
import * as BusMemory from "../../src/bus/BusMemory.ts"
import { exec } from "../support/Process.ts"
import { startFakeModel } from "./FakeModel.ts"
import { inspector, tryMcp } from "./McpTrial.ts"
import { tryReadmeLine } from "./ReadmeLine.ts"
import { type RealAgent, realAgents } from "./RealAgents.ts"
import { tryAgent } from "./Trial.ts"

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

const recordOf = (name: string) => (what: string, printed: string) => {
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
    for (const [name, real] of wanted) {
      const record = options.write ? { record: recordOf(name) } : {}
      const trial = tryAgent({ real, model, modules, folder: join(folder, name), ...record })
      const shown = await Effect.runPromise(
        trial.pipe(
          Effect.scoped,
          Effect.provide(BusMemory.layer),
          Logger.withMinimumLogLevel(LogLevel.None),
          Effect.timeout("15 minutes")
        )
      )
      console.log(name, JSON.stringify(shown))
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
