/** How each real agent program is run against the fake model. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { AgentName } from "../../src/domain/AgentName.ts"

export interface RealAgent {
  readonly preset: AgentName
  /** Its packages in the npm registry, with the versions that the preset was measured with. */
  readonly install: ReadonlyArray<string>
  /** Its programs by the names that they are run by, in the folder of the installed packages. They need no install script. */
  readonly programs: Readonly<Record<string, string>>
  /** Options with which it may use its shell. */
  readonly allowed: (model: string) => ReadonlyArray<string>
  /** Options with which it may not, and reports that. Absent if it does not ask: Codex has a sandbox, Gemini hides the tool. */
  readonly denied?: (model: string) => ReadonlyArray<string>
  readonly env: (model: string) => Readonly<Record<string, string>>
  /** Prepares its home and its working folder. */
  readonly prepare?: (model: string, home: string, folder: string) => void
  /** It has subagents. */
  readonly delegates?: boolean
  /** It reports no cached tokens. */
  readonly hidesCache?: boolean
  /** Sessions that continue within a minute are lost. */
  readonly losesYoungSessions?: boolean
}

const write = (folder: string, file: string, content: string) => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, file), content)
}

/** Its packages in their newest versions, but for Node. */
export const newest = ({ install, ...real }: RealAgent): RealAgent => ({
  ...real,
  install: install.map((name) => (node.install.includes(name) ? name : name.replace(/@[^@]*$/, "@latest")))
})

/** Agents that need a later Node than the tests. */
export const node = {
  install: [`node-linux-${process.arch}@22.23.3`],
  programs: { node: `node-linux-${process.arch}/bin/node` }
}

const claude = {
  // Claude Code refuses some modes to root outside a sandbox.
  env: (model: string) => ({ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: "fake", IS_SANDBOX: "1" })
}

const codexOptions = (model: string) => [
  ...["-m", "fake", "-c", "model_provider=fake", "-c", 'model_providers.fake.name="fake"'],
  ...["-c", `model_providers.fake.base_url="${model}/v1"`, "-c", 'model_providers.fake.wire_api="responses"'],
  ...["-c", 'model_providers.fake.env_key="FAKE_KEY"']
]

export const codexConfig = (model: string) => `model = "fake"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
`

const gemini = {
  env: (model: string) => ({ GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: "fake" }),
  prepare: (_: string, home: string, __: string, settings: object = {}) =>
    write(
      join(home, ".gemini"),
      "settings.json",
      JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } }, ...settings })
    )
}

/** As docs/use/agents.md has it. */
const geminiTools = { mcpServers: { webhook: { command: "node", args: ["$WEBHOOK_TOOLS"], trust: true } } }

const opencode = {
  env: () => ({}),
  prepare: (model: string, _: string, folder: string) =>
    write(
      folder,
      "opencode.json",
      JSON.stringify({
        model: "fake/fake",
        permission: { bash: "ask" },
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${model}/v1`, apiKey: "fake" },
            models: { fake: { name: "fake", cost: { input: 3, output: 15 } } }
          }
        }
      })
    )
}

/** The options of the preset `acp` for the command. */
const acp = (...command: ReadonlyArray<string>) => ({
  allowed: () => ["--allow", "all", ...command],
  denied: () => ["--allow", "none", ...command]
})

const packages = {
  claude: ["@anthropic-ai/claude-code@2.1.197"],
  codex: ["@openai/codex@0.169.0"],
  gemini: ["@google/gemini-cli@0.61.0"],
  opencode: ["opencode-ai@1.18.33"]
}

const programs = {
  gemini: { gemini: ".bin/gemini" },
  opencode: { opencode: `opencode-linux-${process.arch}/bin/opencode` }
}

/** The agents by the names of their trials: for each preset of a program, at least one. */
export const realAgents: { readonly [Name in Exclude<AgentName, "langgraph" | "openai">]: RealAgent } & Readonly<
  Record<string, RealAgent>
> = {
  claude: {
    ...claude,
    preset: "claude",
    install: packages.claude,
    delegates: true,
    programs: { claude: `@anthropic-ai/claude-code-linux-${process.arch}/claude` },
    allowed: () => ["--allowedTools", "Bash"],
    denied: () => ["--permission-mode", "default"]
  },
  codex: {
    preset: "codex",
    install: packages.codex,
    programs: { codex: ".bin/codex" },
    allowed: (model) => [...codexOptions(model), "--sandbox", "danger-full-access"],
    env: () => ({ FAKE_KEY: "fake" })
  },
  gemini: {
    ...gemini,
    preset: "gemini",
    install: packages.gemini,
    programs: programs.gemini,
    prepare: (model, home, folder) => gemini.prepare(model, home, folder, geminiTools),
    allowed: () => ["--approval-mode", "yolo"]
  },
  opencode: {
    ...opencode,
    preset: "opencode",
    install: packages.opencode,
    programs: programs.opencode,
    allowed: () => ["--auto"],
    denied: () => []
  },
  acp: {
    ...opencode,
    ...acp("opencode", "acp"),
    preset: "acp",
    install: packages.opencode,
    programs: programs.opencode
  },
  "acp-gemini": {
    ...gemini,
    // Without a model, it asks another one which to use.
    ...acp("gemini", "--acp", "--skip-trust", "--model", "gemini-3.1-pro-preview"),
    preset: "acp",
    install: packages.gemini,
    programs: programs.gemini,
    hidesCache: true,
    losesYoungSessions: true
  },
  "acp-codex": {
    allowed: () => ["--mode", "agent-full-access", ...acp("codex-acp").allowed()],
    preset: "acp",
    install: ["@agentclientprotocol/codex-acp@2.6.0", ...node.install],
    programs: { "codex-acp": ".bin/codex-acp", ...node.programs },
    env: () => ({ FAKE_KEY: "fake" }),
    prepare: (model, home) => write(join(home, ".codex"), "config.toml", codexConfig(model))
  },
  "acp-claude": {
    ...claude,
    allowed: () => ["--mode", "default", ...acp("claude-agent-acp").allowed()],
    denied: () => ["--mode", "default", ...acp("claude-agent-acp").denied()],
    preset: "acp",
    install: ["@agentclientprotocol/claude-agent-acp@0.101.0", ...node.install],
    programs: { "claude-agent-acp": ".bin/claude-agent-acp", ...node.programs }
  }
}
