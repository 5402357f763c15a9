// Imports modules in this process, one after the other, and prints the modules that each of them loads.    node
// loaded.mjs [--conditions=<condition>] <specifier>...  With conditions, packages are resolved with these instead of
// Node's own: "browser", for example.
import { createRequire, register } from "node:module"
import { pathToFileURL } from "node:url"
import { MessageChannel, receiveMessageOnPort } from "node:worker_threads"

const option = "--conditions="
const [given, specifiers] = [true, false].map((wanted) =>
  process.argv.slice(2).filter((word) => word.startsWith(option) === wanted)
)
const conditions = given.map((word) => word.slice(option.length))

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

const errors = {}
for (const specifier of specifiers) {
  try {
    await import(specifier)
  } catch (cause) {
    errors[specifier] = String(cause)
  }
}
const imports = []
for (let next = receiveMessageOnPort(port1); next; next = receiveMessageOnPort(port1)) imports.push(next.message)
port1.close()
// No hook sees modules that CommonJS modules require.
for (const [path, { children }] of Object.entries(createRequire(import.meta.url).cache)) {
  const importer = pathToFileURL(path).href
  for (const { filename } of children) imports.push({ url: pathToFileURL(filename).href, importer })
}
console.log(JSON.stringify({ imports, errors }))
