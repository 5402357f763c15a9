// Prints TypeScript's errors in a host's files and in this package's declarations, and of no other package: checking
// all of them would come first. Runs in the host's project.    node diagnostics.mjs <TypeScript's folder>
import { createRequire } from "node:module"
import { join } from "node:path"

const ts = createRequire(import.meta.url)(process.argv[2])
const cwd = process.cwd()

const { errors, fileNames, options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(join(cwd, "tsconfig.json"), ts.sys.readFile).config,
  ts.sys,
  cwd
)
const program = ts.createProgram(fileNames, options)
const found = [...errors, ...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()]
for (const file of program.getSourceFiles()) {
  if (/\/node_modules\/(?!webhook-trigger\/)/.test(file.fileName)) continue
  if (program.isSourceFileDefaultLibrary(file)) continue
  found.push(...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file))
  if (!file.isDeclarationFile) found.push(...program.getDeclarationDiagnostics(file))
}
process.stdout.write(
  ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(found), {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => cwd,
    getNewLine: () => "\n"
  })
)
