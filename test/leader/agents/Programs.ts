/** Scripts in place of the presets' programs, and what the real programs printed: `npm run test:agents -- --write` records it. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Result } from "effect"
import type { AgentName } from "../../../src/domain/AgentName.ts"
import { presets } from "../../../src/leader/index.ts"
import { folderInPath, leading } from "./Leading.ts"

export const recorded = (name: AgentName, what: string) =>
  fileURLToPath(new URL(`../../agents/recorded/${name}/${what}.jsonl`, import.meta.url))

/** A shell script in place of the preset's program. It finds its arguments in `args`, and its input in `input`. */
export const preset = (
  name: AgentName,
  script: string,
  options: ReadonlyArray<string> = presets[name].example.split(" ").slice(1),
  leader: Parameters<typeof leading>[1] = {}
) =>
  Effect.gen(function* () {
    const folder = yield* folderInPath
    const command = join(folder, presets[name].title === "Claude Code" ? "claude" : name)
    writeFileSync(command, `#!/bin/sh\ncd '${folder}'\nprintf '%s\\n' "$@" >> args\n${script}\n`)
    chmodSync(command, 0o755)
    const led = yield* leading(Result.getOrThrow(presets[name].agent(options)), leader)
    return { ...led, read: (file: string) => readFileSync(join(folder, file), "utf8") }
  })

/** Claude Code's input stays open, so that one line is a prompt. */
export const print = (name: ProgramName, what: string) =>
  `${name === "claude" ? "head -n 1" : "cat"} > input; cat '${recorded(name, what)}'`

export const programNames = ["claude", "codex", "gemini", "opencode"] as const
export type ProgramName = (typeof programNames)[number]

export const usages: { readonly [Name in ProgramName]: object } = {
  // With what it used to find a title.
  claude: {
    ...{ input_tokens: 2800, output_tokens: 68, cached_input_tokens: 400 },
    ...{ cost_usd: 0.0139, model: "claude-opus-4-8[1m]" }
  },
  codex: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200 },
  gemini: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200, model: "gemini-3.1-pro-preview" },
  opencode: { input_tokens: 1200, output_tokens: 34, cached_input_tokens: 200, cost_usd: 0.00351 }
}

/** A session of each, and what the program prints to its standard error if it does not have one. */
export const sessions: { readonly [Name in ProgramName]: readonly [id: string, lost: string] } = {
  claude: ["3c85dd9c-1122-4ad1-b28d-77848b698410", "No conversation found with session ID: 3c85dd9c"],
  codex: ["01a20bdb-7c51-7c72-b461-7a542e6b6b64", "Error: thread/resume: no rollout found for thread id 01a20bdb"],
  gemini: ["1216e440-27e1-4749-b29a-cf2293c92b05", "Error resuming session: Invalid session identifier"],
  opencode: ["ses_df4240244ffefy4vxGok6Zk2D4", "\u001b[91mError: \u001b[0mSession not found"]
}
