/** A webhook's request to the agent beside the prompt. The leader decides which parts of it are allowed. */
import { Schema, Struct } from "effect"
import { AnyObject, Int } from "../SchemaParts.ts"
import { optional } from "../Time.ts"
import type { SettingValues } from "../webhook/WebhookSettings.ts"

const text = (description: string) => Schema.String.annotate({ description })

export const AgentRequest = Schema.Struct({
  model: optional(text("The agent's model.")),
  permissions: optional(
    text("What the agent may do: the name of a permission profile that the leader's operator has defined.")
  ),
  max_turns: optional(Int.annotate({ description: "How many turns (responses of its model) the agent may take." })),
  max_cost: optional(Schema.Finite.annotate({ description: "What the run may cost, in US dollars." })),
  may_ask: optional(Schema.Boolean.annotate({ description: "`false`: the agent must not ask questions." })),
  workspace_ref: optional(
    text("The branch, tag, ref or commit to work on, for an agent with a repository. It may come from a caller.")
  ),
  workspace_exact: optional(
    Schema.Boolean.annotate({
      description:
        "`true`: a person approved the run for the commit `workspace_ref`, so the agent must work on no other."
    })
  ),
  answer_schema: optional(
    AnyObject.annotate({
      description: "A JSON Schema (draft 2020-12). The answer must be JSON that matches it, and nothing else."
    })
  )
}).annotate({ identifier: "AgentRequest", description: "What the webhook asks of the agent besides the prompt." })
export type AgentRequest = typeof AgentRequest.Type

/** The webhook's setting for each part that a leader may refuse. */
export const settingOf = {
  model: "agent_model",
  permissions: "agent_permissions",
  max_turns: "max_turns",
  max_cost: "max_cost"
} as const satisfies {
  readonly [Part in Exclude<
    keyof AgentRequest,
    "answer_schema" | "may_ask" | "workspace_exact" | "workspace_ref"
  >]: keyof SettingValues
}

type Settings = { readonly [Name in keyof SettingValues]?: SettingValues[Name] | undefined }

export type RefusablePart = keyof typeof settingOf

export const refusableParts = Struct.keys(settingOf)

/** The request to the agent of a webhook with these settings; `undefined`: nothing but the prompt. */
export const agentRequestOf = (webhook: Settings): AgentRequest | undefined => {
  let request: Record<string, unknown> | undefined
  for (const part of refusableParts) {
    const value = webhook[settingOf[part]]
    if (value !== undefined) request = { ...request, [part]: value }
  }
  if (webhook.agent_asks === "refuse") request = { ...request, may_ask: false }
  const { answer_schema } = webhook
  return answer_schema === undefined ? request : { ...request, answer_schema }
}
