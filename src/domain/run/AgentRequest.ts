/** What a webhook asks of the agent beside the prompt. The leader decides what of it is allowed. */
import { Predicate, Schema } from "effect"
import { optional } from "../Time.ts"
import type { JsonObject } from "../webhook/WebhookSettingKinds.ts"
import type { SettingValues } from "../webhook/WebhookSettings.ts"

const text = (description: string) => Schema.String.annotations({ description })

/** Not `Schema.Record`, which copies the object and loses a member called `__proto__`. */
const AnswerSchema = Schema.declare((value): value is JsonObject => Predicate.isReadonlyRecord(value), {
  description: "A JSON Schema (draft 2020-12). The answer must be JSON that matches it, and nothing else.",
  jsonSchema: { type: "object", additionalProperties: true }
})

export const AgentRequest = Schema.Struct({
  model: optional(text("The model that the agent is to use.")),
  permissions: optional(text("What the agent may do: the name of a profile that the leader's operator has defined.")),
  max_turns: optional(
    Schema.Int.annotations({ description: "How many turns the agent may take: answers of its model." })
  ),
  max_cost: optional(Schema.Number.annotations({ description: "What the run may cost, in US dollars." })),
  answer_schema: optional(AnswerSchema)
}).annotations({ identifier: "AgentRequest", description: "What the webhook asks of the agent beside the prompt." })
export type AgentRequest = typeof AgentRequest.Type

type Settings = { readonly [Name in keyof SettingValues]?: SettingValues[Name] | undefined }

/** What a webhook with these settings asks of the agent; `undefined`: nothing but the prompt. */
export const agentRequestOf = (webhook: Settings): AgentRequest | undefined => {
  const { agent_model, agent_permissions, answer_schema, max_cost, max_turns } = webhook
  if ((agent_model ?? agent_permissions ?? max_cost ?? max_turns ?? answer_schema) === undefined) return undefined
  return {
    ...(agent_model !== undefined && { model: agent_model }),
    ...(agent_permissions !== undefined && { permissions: agent_permissions }),
    ...(max_turns !== undefined && { max_turns }),
    ...(max_cost !== undefined && { max_cost }),
    ...(answer_schema !== undefined && { answer_schema })
  }
}
