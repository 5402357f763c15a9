/** What a webhook asks of the agent beside the prompt. The leader decides what of it is allowed. */
import { Schema } from "effect"
import { optional } from "../Time.ts"
import type { SettingValues } from "../webhook/WebhookSettings.ts"

const text = (description: string) => Schema.String.annotations({ description })

export const AgentRequest = Schema.Struct({
  model: optional(text("The model that the agent is to use.")),
  permissions: optional(text("What the agent may do: the name of a profile that the leader's operator has defined.")),
  max_turns: optional(
    Schema.Int.annotations({ description: "How many turns the agent may take: answers of its model." })
  ),
  max_cost: optional(Schema.Number.annotations({ description: "What the run may cost, in US dollars." }))
}).annotations({ identifier: "AgentRequest", description: "What the webhook asks of the agent beside the prompt." })
export type AgentRequest = typeof AgentRequest.Type

type Settings = { readonly [Name in keyof SettingValues]?: SettingValues[Name] | undefined }

/** What a webhook with these settings asks of the agent; `undefined`: nothing but the prompt. */
export const agentRequestOf = (webhook: Settings): AgentRequest | undefined => {
  const { agent_model, agent_permissions, max_cost, max_turns } = webhook
  if ((agent_model ?? agent_permissions ?? max_cost ?? max_turns) === undefined) return undefined
  return {
    ...(agent_model !== undefined && { model: agent_model }),
    ...(agent_permissions !== undefined && { permissions: agent_permissions }),
    ...(max_turns !== undefined && { max_turns }),
    ...(max_cost !== undefined && { max_cost })
  }
}
