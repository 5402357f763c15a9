// Prints a module that exports everything of the package again, with inferred types. Compiled with `declaration`, it
// shows whether a host can name every type in its own inferred types. Runs in the host's project.
import { Context } from "effect"

const entries = ["", "/api", "/leader", "/testing", "/amqp", "/postgres", "/pglite"]
const lines = ['import { Effect } from "effect"']

/** Services that a host replaces: each method separately. */
const replaced = /\.(Bus|LeaderBus|Limiter|Renderer)$/

/** A host gets their layers from `Engine.layer`. */
const engine = /\.(Teams|Trigger|Webhooks)$/

const add = (path, value) => {
  const name = path.replaceAll(".", "_")
  lines.push(`export const ${name} = ${path}`)
  if (!Context.isKey(value)) return
  if (replaced.test(path)) {
    lines.push(`export const ${name}_service = Effect.map(${path}, (service) => ({ ...service }))`)
  }
  if (engine.test(path)) return
  for (const key of Object.keys(value).filter((key) => key.startsWith("layer"))) add(`${path}.${key}`)
}

for (const entry of entries) {
  const alias = entry === "" ? "root" : entry.slice(1)
  const module = await import(`webhook-trigger${entry}`)
  lines.push(`import * as ${alias} from "webhook-trigger${entry}"`)
  for (const [key, value] of Object.entries(module)) {
    if (value?.[Symbol.toStringTag] === "Module") {
      for (const [inner, it] of Object.entries(value)) add(`${alias}.${key}.${inner}`, it)
    } else add(`${alias}.${key}`, value)
  }
}
console.log(lines.join("\n"))
