// Imports a module in this process and prints which modules came with it.
//   node loaded.mjs <specifier> [condition...]
// With conditions, packages are resolved with these instead of Node's own: "browser", for example.
import { createRequire, register } from "node:module"
import { pathToFileURL } from "node:url"
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads"

const [specifier, ...conditions] = process.argv.slice(2)

/** Runs in the loader's thread, and reports what each import resolves to. */
const hooks = `
let port, conditions
export const initialize = (data) => { ({ port, conditions } = data) }
export const resolve = async (specifier, context, next) => {
  const given = conditions.length === 0 ? context : { ...context, conditions: [...conditions, "import", "default"] }
  const { url, ...rest } = await next(specifier, given)
  port.postMessage({ url, importer: context.parentURL })
  return { url, ...rest }
}`

const { port1, port2 } = new MessageChannel()
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  parentURL: import.meta.url,
  data: { port: port2, conditions },
  transferList: [port2]
})

let error
try {
  await import(specifier)
} catch (cause) {
  error = String(cause)
}
// What CommonJS modules require is seen by no hook.
const required = Object.keys(createRequire(import.meta.url).cache).map((path) => ({ url: pathToFileURL(path).href }))
const imports = []
for (let next = receiveMessageOnPort(port1); next; next = receiveMessageOnPort(port1)) imports.push(next.message)
port1.close()
console.log(JSON.stringify({ imports: [...imports, ...required], error }))
