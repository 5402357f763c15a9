import type { AgentName } from "../../domain/AgentName.ts"
import type { Preset } from "./Agent.ts"
import { acp } from "./acp.ts"
import { claude } from "./claude.ts"
import { codex } from "./codex.ts"
import { gemini } from "./gemini.ts"
import { langgraph } from "./langgraph.ts"
import { openai } from "./openai.ts"
import { opencode } from "./opencode.ts"

/** The presets by their names in settings and on the command line. */
export const presets: { readonly [Name in AgentName]: Preset } = {
  claude,
  codex,
  gemini,
  opencode,
  acp,
  openai,
  langgraph
}
