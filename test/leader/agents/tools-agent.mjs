// In place of an agent's program that uses the tools it is given: `node tools-agent.mjs claude ARGUMENTS OF THE PROGRAM`. Its
// prompt has JSON: a list of calls, each the name of a tool and its arguments. It writes what the tools answer to `results`.
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { createInterface } from "node:readline"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"

const [name, ...args] = process.argv.slice(2)
const optionsOf = (option) => args.flatMap((word, index) => (args[index - 1] === option ? [word] : []))

/** The words that start the server, found as the real program finds them. */
const servers = {
  claude: () => {
    const [config] = optionsOf("--mcp-config")
    const { command, args } = config ? JSON.parse(config).mcpServers.webhook : {}
    return [command, ...(args ?? [])]
  },
  codex: () => {
    const settings = Object.fromEntries(optionsOf("-c").map((option) => option.split(/=(.*)/s)))
    const valueOf = (field) => JSON.parse(settings[`mcp_servers.webhook.${field}`] ?? "[]")
    return [valueOf("command"), ...valueOf("args")].flat()
  },
  gemini: () => (process.env.WEBHOOK_TOOLS ? [process.execPath, process.env.WEBHOOK_TOOLS] : []),
  opencode: () => JSON.parse(process.env.OPENCODE_CONFIG_CONTENT ?? "{}").mcp?.webhook.command ?? []
}

const input = []
for await (const line of createInterface({ input: process.stdin })) {
  input.push(line)
  // Claude Code's input stays open.
  if (name === "claude") break
}
const prompt = name === "claude" ? JSON.parse(input[0]).message.content[0].text : input.join("\n")
const [command, ...words] = servers[name]()
if (command === undefined) writeFileSync("results", "no tools")
else {
  const client = new Client({ name: "an agent", version: "1" })
  await client.connect(new StdioClientTransport({ command, args: words, stderr: "inherit" }))
  const { tools } = await client.listTools()
  const answers = []
  for (const [tool, input] of JSON.parse(prompt)) {
    const { content, isError } = await client.callTool({ name: tool, arguments: input })
    answers.push({ text: content[0].text, isError: isError === true })
  }
  const [script] = words
  const modes = [dirname(script), `${dirname(script)}/socket`].map((path) => (statSync(path).mode & 0o777).toString(8))
  writeFileSync("results", JSON.stringify({ tools: tools.map(({ name }) => name), answers, script, modes }))
  await client.close()
}
process.stdout.write(readFileSync(process.env.PRINTED, "utf8"))
process.exit(Number(process.env.EXIT_CODE ?? 0))
