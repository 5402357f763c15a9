/** How each real agent program is run against the fake model. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { AgentName } from "../../src/domain/AgentName.ts"

export interface RealAgent {
  /** The package in the npm registry, with the version that the preset was measured with. */
  readonly install: string
  /** The program in the folder of the installed packages, which need no install script. */
  readonly program: string
  readonly options?: (model: string) => ReadonlyArray<string>
  /** Options with which it may use its shell. */
  readonly allowed: ReadonlyArray<string>
  /** Options with which it may not, and reports that. Absent if it does not ask: Codex has a sandbox, Gemini hides the tool. */
  readonly denied?: ReadonlyArray<string>
  readonly env: (model: string) => Readonly<Record<string, string>>
  /** Prepares its home and its working folder. */
  readonly prepare?: (model: string, home: string, folder: string) => void
}

const json = (folder: string, file: string, content: unknown) => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, file), JSON.stringify(content))
}

export const realAgents: { readonly [Name in AgentName]: RealAgent } = {
  claude: {
    install: "@anthropic-ai/claude-code@2.1.197",
    program: `@anthropic-ai/claude-code-linux-${process.arch}/claude`,
    allowed: ["--allowedTools", "Bash"],
    denied: ["--permission-mode", "default"],
    env: (model) => ({ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: "fake" })
  },
  codex: {
    install: "@openai/codex@0.169.0",
    program: ".bin/codex",
    options: (model) => [
      ...["-m", "fake", "-c", "model_provider=fake", "-c", 'model_providers.fake.name="fake"'],
      ...["-c", `model_providers.fake.base_url="${model}/v1"`, "-c", 'model_providers.fake.wire_api="responses"'],
      ...["-c", 'model_providers.fake.env_key="FAKE_KEY"']
    ],
    allowed: ["--sandbox", "danger-full-access"],
    env: () => ({ FAKE_KEY: "fake" })
  },
  gemini: {
    install: "@google/gemini-cli@0.61.0",
    program: ".bin/gemini",
    allowed: ["--approval-mode", "yolo"],
    env: (model) => ({ GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: "fake" }),
    prepare: (_, home) =>
      json(join(home, ".gemini"), "settings.json", { security: { auth: { selectedType: "gemini-api-key" } } })
  },
  opencode: {
    install: "opencode-ai@1.18.33",
    program: `opencode-linux-${process.arch}/bin/opencode`,
    allowed: ["--auto"],
    denied: [],
    env: () => ({}),
    prepare: (model, _, folder) =>
      json(folder, "opencode.json", {
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
  }
}
