/** The README's line that puts a real agent behind a webhook, run as it is printed, and the `curl` that it prints. */
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { exec, freePort } from "../support/Process.ts"
import type { FakeModel } from "./FakeModel.ts"
import { realAgents } from "./RealAgents.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const lineOfReadme = (): string => {
  const [line] = /^node dist\/main\.js serve --agent .*$/m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? []
  if (line === undefined) throw new Error("README.md has no line that serves an agent")
  return line
}

/** Resolves with the match once the server has printed it. */
const printed = (server: ReturnType<typeof spawn>, wanted: RegExp) =>
  new Promise<string>((resolve, reject) => {
    let output = ""
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const found = wanted.exec(output)
      if (found) resolve(found[0])
    }
    server.stdout!.on("data", read)
    server.stderr!.on("data", read)
    server.once("exit", () => reject(new Error(`the server ended: ${output}`)))
  })

/** Builds the program, starts the line, gives the agent a task, and returns the answer. */
export const tryReadmeLine = async (model: FakeModel, modules: string, folder: string): Promise<unknown> => {
  const line = lineOfReadme()
  const [bin, home] = [join(folder, "bin"), join(folder, "home")]
  for (const each of [bin, home]) mkdirSync(each, { recursive: true })
  const { env, programs } = realAgents.claude
  for (const [name, path] of Object.entries(programs)) {
    symlinkSync(resolve(modules, "node_modules", path), join(bin, name))
  }
  await exec("npm", ["run", "--silent", "build:program"], { cwd: root })
  const server = spawn("/bin/bash", ["-c", `exec ${line}`], {
    cwd: root,
    env: {
      ...env(model.url),
      HOME: home,
      PATH: `${bin}:${process.env.PATH}`,
      PORT: String(await freePort()),
      DATA_DIR: join(folder, "data")
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = new Promise((done) => server.once("exit", done))
  try {
    const curl = await printed(server, /curl -X POST \S+ .*"task".*(?=\n)/)
    const { stdout } = await exec("/bin/bash", ["-c", `${curl} --silent --show-error`])
    const { response, run_id, status, ...report } = JSON.parse(stdout)
    if (status !== "success" || response !== "I did what you asked." || report.usage === undefined) {
      throw new Error(`the answer: ${stdout}`)
    }
    return { line, response, ...report }
  } finally {
    server.kill()
    await ended
  }
}
