// Bundles the program: it starts three times as fast from a few files as from a thousand. The package's entry points
// for hosts stay separate modules.
import { rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import "./recipes.mjs"
import { endsWith, hashOf, root } from "./sources.mjs"

/** The last line of each bundle. `tsc` writes files of the same name, without it. */
const footer = `// from ${hashOf(["src/", "package-lock.json", "build/bundle.mjs"], ["src/ui/"])}`

export const isCurrent = () => ["main", "evaluation"].every((name) => endsWith(`${root}dist/${name}.js`, `${footer}\n`))

/** Bundles a program of this package into `dist/<name>.js`. Modules that it loads later go to `dist/<name>/`. */
export const bundle = async (entry, name) => {
  const { build } = await import("esbuild")
  // The entry first: without its modules it must not look current.
  for (const path of [`${name}.js`, name]) rmSync(`${root}dist/${path}`, { recursive: true, force: true })
  await build({
    entryPoints: { [name]: entry },
    outdir: `${root}dist`,
    chunkNames: `${name}/[name]-[hash]`,
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node20",
    format: "esm",
    // It loads its WebAssembly from its own folder.
    external: ["@electric-sql/pglite"],
    // For CommonJS modules in the bundle that `require` Node's own.
    banner: {
      js: 'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);'
    },
    footer: { js: footer },
    logLevel: "warning"
  })
}

/** The program of the threads that evaluate filters, schemas and templates. */
export const bundleEvaluation = () => bundle(`${root}src/engine/prompt/EvaluationThread.ts`, "evaluation")

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await Promise.all([bundle(`${root}src/main.ts`, "main"), bundleEvaluation()])
}
