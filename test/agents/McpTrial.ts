/**
 * Real assistants call a webhook as a tool, set up with the commands and files of docs/use/mcp.md: Claude Code and Codex over HTTP
 * and by `webhook-trigger mcp`, and the command line of the protocol's inspector.
 */
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { exec, freePort } from "../support/Process.ts"
import { until } from "../support/Until.ts"
import type { FakeModel } from "./FakeModel.ts"
import { codexConfig, node, realAgents } from "./RealAgents.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const adminKey = "an-admin-key-for-assistants"
const publicUrl = "https://hooks.example.com"

/** With the Node that it needs. */
export const inspector = ["@modelcontextprotocol/inspector@2.12.0", ...node.install]

/** The cell of an assistant in the table of docs/use/mcp.md, with this server's address and key. */
const setUpOf = (assistant: string, url: string, key: string): ReadonlyArray<string> => {
  const page = readFileSync(join(root, "docs/use/mcp.md"), "utf8")
  const line = page.split("\n").find((each) => each.trim().startsWith(`| ${assistant}`))
  if (line === undefined) throw new Error(`docs/use/mcp.md does not say how to set up ${assistant}`)
  return [...line.matchAll(/`([^`]+)`/g)].map(([, code]) => code!.replaceAll(publicUrl, url).replaceAll("whp_…", key))
}

/** An embedded server with a webhook that is the tool `review`, and an assistant's key. */
const served = async (folder: string) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const script = join(folder, "review.sh")
  writeFileSync(script, 'read -r text; echo "found: $text"', { mode: 0o755 })
  const server = spawn(process.execPath, [join(root, "dist/main.js"), "serve", "--leader", `review=sh ${script}`], {
    env: {
      ...{ PATH: process.env.PATH ?? "", DATA_DIR: join(folder, "data"), PORT: String(port) },
      ADMIN_API_KEY: adminKey
    },
    stdio: "ignore"
  })
  const ended = new Promise((done) => server.once("exit", done))
  const api = async (path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" }
    const answer = await fetch(url + path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers })
    return answer.json()
  }
  await until("the server is ready", async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.ok)
  const draft = { name: "Review", team: "review", prompt_template: "{{text}}\n" }
  await api("/api/webhooks", { ...draft, mcp_tool: "review", mcp_description: "Reviews a text." })
  const { key } = await api("/api/keys", { name: "an assistant", role: "operator" })
  const runs = async (): Promise<number> => (await api("/api/runs?limit=100")).data.length
  return {
    ...{ url, key: key as string, runs },
    stop: async () => {
      server.kill()
      await ended
    }
  }
}

/** Runs the assistants, and returns what they said. Fails unless each one called the tool, and got the answer. */
export const tryMcp = async (model: FakeModel, modules: string, folder: string): Promise<unknown> => {
  const bin = join(folder, "bin")
  mkdirSync(bin, { recursive: true })
  await exec("npm", ["run", "--silent", "build:program"], { cwd: root })
  const own = `#!/bin/sh\nexec '${process.execPath}' '${join(root, "dist/main.js")}' "$@"\n`
  writeFileSync(join(bin, "webhook-trigger"), own, { mode: 0o755 })
  for (const { programs } of [realAgents.claude, realAgents.codex]) {
    for (const [name, path] of Object.entries(programs))
      symlinkSync(resolve(modules, "node_modules", path), join(bin, name))
  }
  const server = await served(folder)
  const said: Record<string, string> = {}
  /** With a home and a working folder of its own. */
  const place = (name: string) => {
    const home = join(folder, name)
    mkdirSync(join(home, ".codex"), { recursive: true })
    const env = {
      ...realAgents.claude.env(model.url),
      ...{ FAKE_KEY: "fake", WEBHOOKS_KEY: server.key, HOME: home, PATH: `${bin}:${process.env.PATH}` },
      ...{ WEBHOOK_TRIGGER_URL: server.url, ADMIN_API_KEY: server.key }
    }
    return {
      home,
      run: (line: string) => exec("/bin/bash", ["-c", `timeout 120 ${line} </dev/null`], { cwd: home, env })
    }
  }
  const expectRun = async (name: string, act: () => Promise<string>) => {
    const before = await server.runs()
    const answer = await act()
    if (!answer.includes("found") || !answer.includes("a-heron") || (await server.runs()) !== before + 1) {
      throw new Error(`${name}: ${answer}`)
    }
    said[name] = answer.trim().slice(-200)
  }
  const claude = (name: string, add: string) =>
    expectRun(name, async () => {
      const { run } = place(name)
      await run(add)
      const ask = "claude -p '[[call review]]' --allowedTools mcp__webhooks__review"
      return (await run(ask)).stdout
    })
  const codex = (name: string, config: string) =>
    expectRun(name, async () => {
      const { home, run } = place(name)
      writeFileSync(join(home, ".codex", "config.toml"), `${codexConfig(model.url)}${config}\n`)
      const ask = "codex exec --skip-git-repo-check --sandbox danger-full-access '[[call review]]'"
      return (await run(ask)).stdout
    })
  try {
    const [addOverHttp] = setUpOf("Claude Code", server.url, server.key)
    await claude("claude", addOverHttp!)
    await claude("claude, standard input and output", "claude mcp add webhooks -- webhook-trigger mcp")
    const [, table, address, token] = setUpOf("Codex", server.url, server.key)
    await codex("codex", [table, address, token].join("\n"))
    // `codex exec` does not wait for a program that is not required.
    const access = `WEBHOOK_TRIGGER_URL = "${server.url}", ADMIN_API_KEY = "${server.key}"`
    const program = ['command = "webhook-trigger"', 'args = ["mcp"]', `env = { ${access} }`, "required = true"]
    await codex("codex, standard input and output", [table, ...program, "startup_timeout_sec = 60"].join("\n"))
    await expectRun("inspector", async () => {
      const program = resolve(modules, "node_modules/.bin/mcp-inspector")
      const path = resolve(modules, "node_modules", node.programs.node, "..")
      const to = `--cli ${server.url}/mcp --transport http --header 'Authorization: Bearer ${server.key}'`
      const call = "--method tools/call --tool-name review --tool-arg text=a-heron"
      return (await place("inspector").run(`env PATH=${path}:$PATH '${program}' ${to} ${call}`)).stdout
    })
    return said
  } finally {
    await server.stop()
  }
}
