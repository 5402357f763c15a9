/** A webhook as a tool of the Model Context Protocol. */
import type { Tool } from "@modelcontextprotocol/server"
import { Either } from "effect"
import type { WebhookId } from "../../domain/Id.ts"
import { pathOf } from "../../domain/prompt/Path.ts"
import * as Template from "../../domain/prompt/Template.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import * as Input from "../../engine/prompt/Input.ts"
import { runTools } from "./RunTools.ts"

/** Characters of an ID after a tool's name that other webhooks have as well. */
const suffixLength = 6

/** Names of the tools for runs. */
const runToolNames = new Set(runTools.map(({ name }) => name))

/** Names of the values of a tool's arguments, by the path to each. */
interface Node {
  readonly [step: string]: Node
}

const treeOf = (paths: ReadonlyArray<ReadonlyArray<string>>): Node => {
  const root: Record<string, any> = Object.create(null)
  for (const path of paths) {
    let node = root
    for (const step of path) node = node[step] ??= Object.create(null)
  }
  return root
}

const schemaOf = (node: Node): JsonObject => {
  const steps = Object.keys(node)
  if (steps.length === 0) return { type: "string" }
  if (steps.every((step) => /^\d+$/.test(step))) return { type: "array" }
  return { type: "object", properties: Object.fromEntries(steps.map((step) => [step, schemaOf(node[step]!)])) }
}

/** The arguments that a template needs: those of its placeholders that are not optional. */
const requiredIn = ({ prompt_template, template_language }: Webhook): ReadonlySet<string> =>
  template_language === "liquid"
    ? new Set()
    : Either.match(Template.parse(prompt_template), {
        onLeft: () => new Set(),
        onRight: ({ placeholders }) => new Set(placeholders.flatMap(({ name, optional }) => (optional ? [] : [name])))
      })

/** The webhook's own JSON Schema, or one made from the values that its template names. */
const inputSchemaOf = (webhook: Webhook): Tool["inputSchema"] => {
  const { schema, variables } = webhook
  const type = "object" as const
  if (schema !== undefined) return schema.type === undefined || schema.type === type ? { ...schema, type } : { type }
  const takesPayload = Input.takesPayload(webhook)
  const paths = variables.map((name) => ({ name, path: pathOf(name) }))
  const used = takesPayload ? paths.filter(({ path }) => path[0] === "payload" && path.length > 1) : paths
  const below = used.map(({ name, path }) => ({ name, path: takesPayload ? path.slice(1) : path }))
  const needed = requiredIn(webhook)
  const required = new Set(below.flatMap(({ name, path }) => (needed.has(name) ? [path[0]!] : [])))
  return {
    ...schemaOf(treeOf(below.map(({ path }) => path))),
    type,
    ...(required.size > 0 && { required: [...required] })
  }
}

/** A webhook that is offered as a tool, by the tool's name. */
export interface Offered {
  readonly id: WebhookId
  readonly team: TeamName
  readonly tool: Tool
}

/**
 * The tools of these webhooks, by name. Of several webhooks with one tool name, the oldest has it; the others get a part
 * of their IDs after it, as does one with the name of a tool for runs.
 */
export const toolsOf = (webhooks: ReadonlyArray<Webhook>): ReadonlyMap<string, Offered> => {
  const tools = new Map<string, Offered>()
  const oldestFirst = webhooks.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  for (const webhook of oldestFirst) {
    const { enabled, id, mcp_description, mcp_tool, name: title, team } = webhook
    if (mcp_tool === undefined || !enabled) continue
    const name = tools.has(mcp_tool) || runToolNames.has(mcp_tool) ? `${mcp_tool}_${id.slice(-suffixLength)}` : mcp_tool
    const description = mcp_description ?? title
    tools.set(name, { id, team, tool: { name, title, description, inputSchema: inputSchemaOf(webhook) } })
  }
  return tools
}

/** A call's arguments, as the input of a request. */
export const inputOf = (webhook: Pick<Webhook, "input">, args: Variables): Variables =>
  Input.takesPayload(webhook) ? { payload: args, headers: {}, query: {} } : args
