import type { AgentName } from "../../domain/AgentName.ts"
import type { Agent } from "./Agent.ts"
import { claude } from "./claude.ts"
import { codex } from "./codex.ts"
import { gemini } from "./gemini.ts"
import { opencode } from "./opencode.ts"

/** The presets by their names in settings and on the command line. */
export const agents: { readonly [Name in AgentName]: Agent } = { claude, codex, gemini, opencode }
