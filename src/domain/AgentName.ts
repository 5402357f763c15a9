/** The agents that the service knows by name. `leader/agents` has a preset for each. */
export const agentNames = ["claude", "codex", "gemini", "opencode", "acp", "openai", "langgraph"] as const

export type AgentName = (typeof agentNames)[number]

export const isAgentName = (name: string): name is AgentName => (agentNames as ReadonlyArray<string>).includes(name)
