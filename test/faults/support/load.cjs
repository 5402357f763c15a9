/**
 * `load.cjs <program>` runs the bundled server with the code that an earlier one has compiled, if one has: compiling it takes a
 * third of the computing of a start. At the message `keepCompiled` the server keeps what it has compiled, in `<program>.compiled`.
 */
const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs")
const { createRequire } = require("node:module")
const { dirname } = require("node:path")
const { constants, Script } = require("node:vm")

const program = process.argv[2]
const compiled = `${program}.compiled`
const source = readFileSync(program, "utf8")
const script = new Script(`(function (require, __filename, __dirname, module, exports) {${source}\n})`, {
  filename: program,
  cachedData: existsSync(compiled) ? readFileSync(compiled) : undefined,
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
})

process.on("message", ({ keepCompiled }) => {
  if (!keepCompiled) return
  const half = `${compiled}.${process.pid}`
  writeFileSync(half, script.createCachedData())
  renameSync(half, compiled)
  process.send({ done: "keepCompiled" })
})

const bundle = { exports: {} }
script.runInThisContext()(createRequire(program), program, dirname(program), bundle, bundle.exports)
