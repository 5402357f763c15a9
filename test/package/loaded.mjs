// Imports one module in this process and prints the modules that came with it.
//   node loaded.mjs <specifier> [condition...]
// With conditions, packages are resolved with these instead of Node's own: "browser", for one.
import { createRequire, register } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import { MessageChannel } from "node:worker_threads"

const [specifier, ...conditions] = process.argv.slice(2)

/** Runs in the loader's thread, and sends each address that an import resolves to. */
const hooks = `
let port, conditions
export const initialize = (data) => { port = data.port; conditions = data.conditions }
export const resolve = async (specifier, context, next) => {
  const result = await next(specifier, conditions.length === 0 ? context : { ...context, conditions: [...conditions, "import", "default"] })
  port.postMessage({ url: result.url, from: context.parentURL })
  return result
}`

const { port1, port2 } = new MessageChannel()
const resolved = []
port1.on("message", (message) => resolved.push(message))
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  parentURL: import.meta.url,
  data: { port: port2, conditions },
  transferList: [port2]
})

await import(specifier)
// What CommonJS modules require is seen by no hook.
const required = Object.keys(createRequire(import.meta.url).cache).map((path) => pathToFileURL(path).href)
await new Promise((resolve) => setImmediate(resolve))
port1.close()
const urls = [...new Set([...resolved.map(({ url }) => url), ...required])].filter((u)=>!u.startsWith("data:"))
const byUs = resolved.filter(({from})=>from?.includes("/dist/") && !from.includes("/node_modules/"))
console.log(JSON.stringify({ urls: urls.map((url) => (url.startsWith("file:") ? fileURLToPath(url) : url)), byUs }))
