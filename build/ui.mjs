// Builds the web UI into `dist/ui`.
import { copyFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import "./recipes.mjs"
import { endsWith, hashOf, root } from "./sources.mjs"

const builtFrom = `${root}dist/ui/.vite/sources`
const sources = hashOf(["src/ui/", "src/api/", "src/domain/", "src/recipes/", "package-lock.json", "build/ui.mjs"])

export const isCurrent = () => endsWith(builtFrom, sources)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { build } = await import("vite")
  await build({
    configFile: `${root}src/ui/vite.config.ts`,
    logLevel: "warn",
    build: {
      rolldownOptions: {
        // `use client` directives, which matter to frameworks that render on servers only.
        onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning)
      }
    }
  })
  // The font may be passed on with its license only.
  copyFileSync(`${root}node_modules/@fontsource-variable/inter/LICENSE`, `${root}dist/ui/inter-license.txt`)
  writeFileSync(builtFrom, sources)
}
