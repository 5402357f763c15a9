/** A webhook as a tool of the Model Context Protocol. */
import type { Tool } from "@modelcontextprotocol/server"
import { Array, Result } from "effect"
import { pathOf } from "../../domain/prompt/Path.ts"
import * as Template from "../../domain/prompt/Template.ts"
import type { Variables } from "../../domain/run/Run.ts"
import type { Webhook } from "../../domain/webhook/Webhook.ts"
import type { JsonObject } from "../../domain/webhook/WebhookSettingKinds.ts"
import * as Input from "../../engine/prompt/Input.ts"
import { listedSchema } from "./ListedSchema.ts"
import { runTools } from "./RunTools.ts"

/** Characters of an ID after a tool's name that other webhooks have as well. */
const suffixLength = 6

/** Maximum length of a tool's name, and of its description, at the APIs of models. */
const maxName = 64
const maxDescription = 1_024

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

const isPlace = (step: string) => /^\d+$/.test(step)

/** `leaf`: of a value at this path. */
const schemaOf = (node: Node, leaf: (path: string) => JsonObject, path: ReadonlyArray<string> = []): JsonObject => {
  const steps = Object.keys(node)
  if (steps.length === 0) return leaf(path.join("."))
  if (path.length > 0 && steps.every(isPlace)) {
    // The items are alike.
    const item = treeOf(steps.flatMap((step) => pathsIn(node[step]!)))
    return { type: "array", items: schemaOf(item, leaf, [...path, steps[0]!]) }
  }
  const members = steps.map((step) => [step, schemaOf(node[step]!, leaf, [...path, step])])
  return { type: "object", properties: Object.fromEntries(members) }
}

const pathsIn = (node: Node): ReadonlyArray<ReadonlyArray<string>> => {
  const steps = Object.keys(node)
  return steps.length === 0 ? [[]] : steps.flatMap((step) => pathsIn(node[step]!).map((path) => [step, ...path]))
}

/** The values that a template in Liquid loops over, as paths: `payload.commits`. */
const loopsIn = (template: string): ReadonlySet<string> => {
  const tags = [...template.matchAll(/\{%([\s\S]*?)%\}/g)].map(([, tag]) => tag!).join("\n")
  const loops = tags.matchAll(/\b(?:for|tablerow)\s+\S+\s+in\s+([^\s%|:(]+)/g)
  return new Set(Array.fromIterable(loops).map(([, path]) => path!.replaceAll(/\[["']?([^\]"']*)["']?\]/g, ".$1")))
}

/** The arguments that a template needs: those of its placeholders that are not optional. */
const requiredIn = ({ prompt_template, template_language }: Webhook): ReadonlySet<string> =>
  template_language === "liquid"
    ? new Set()
    : Result.match(Template.parse(prompt_template), {
        onFailure: () => new Set(),
        onSuccess: ({ placeholders }) => new Set(placeholders.flatMap(({ name, optional }) => (optional ? [] : [name])))
      })

/** The webhook's own JSON Schema, or one made from the values that its template names. */
const inputSchemaOf = (webhook: Webhook): Tool["inputSchema"] => {
  const { prompt_template, schema, template_language, variables } = webhook
  if (schema !== undefined) return listedSchema(schema)
  const takesPayload = Input.takesPayload(webhook)
  const paths = variables.map((name) => ({ name, path: pathOf(name) }))
  const used = takesPayload ? paths.filter(({ path }) => path[0] === "payload" && path.length > 1) : paths
  const below = used.map(({ name, path }) => ({ name, path: takesPayload ? path.slice(1) : path }))
  const needed = requiredIn(webhook)
  const required = new Set(below.flatMap(({ name, path }) => (needed.has(name) ? [path[0]!] : [])))
  const loops = template_language === "liquid" ? loopsIn(prompt_template) : undefined
  const leaf = (path: string): JsonObject => {
    if (loops === undefined) return { type: "string" }
    // Filters and conditions take values of any type.
    return loops.has(takesPayload ? `payload.${path}` : path) ? { type: "array" } : {}
  }
  const { properties = {} } = below.length === 0 ? {} : schemaOf(treeOf(below.map(({ path }) => path)), leaf)
  return listedSchema({ type: "object", properties, required: [...required] })
}

/**
 * Webhooks that are tools, for somebody who may use all of these, by the tool's name. Of a team's webhooks with one tool name,
 * the oldest has it. The others get a part of their IDs after it, as do all whose name another team or a tool for runs
 * has.
 */
export const toolsOf = (webhooks: ReadonlyArray<Webhook>): ReadonlyMap<string, Webhook> => {
  const tools = new Map<string, Webhook>()
  const oldestFirst = webhooks.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const byName = Object.entries(Array.groupBy(oldestFirst, ({ mcp_tool = "" }) => mcp_tool))
  const others: Array<readonly [name: string, webhook: Webhook]> = []
  for (const [name, [oldest, ...more]] of byName) {
    const isFree = !runToolNames.has(name) && more.every(({ team }) => team === oldest.team)
    if (isFree) tools.set(name, oldest)
    for (const webhook of isFree ? more : [oldest, ...more]) others.push([name, webhook])
  }
  for (const [name, webhook] of others) {
    const withId = (id: string) => `${name.slice(0, maxName - id.length - 1)}_${id}`
    const short = withId(webhook.id.slice(-suffixLength))
    tools.set(tools.has(short) ? withId(webhook.id) : short, webhook)
  }
  return tools
}

const cut = (text: string): string => (text.length > maxDescription ? `${text.slice(0, maxDescription - 1)}…` : text)

export const describe = (name: string, webhook: Webhook): Tool => ({
  ...{ name, title: webhook.name, description: cut(webhook.mcp_description ?? webhook.name) },
  inputSchema: inputSchemaOf(webhook)
})

/** A call's arguments, as the input of a request. */
export const inputOf = (webhook: Pick<Webhook, "input">, args: Variables): Variables =>
  Input.takesPayload(webhook) ? { payload: args, headers: {}, query: {} } : args
