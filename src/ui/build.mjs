// Builds the web UI into dist/ui, unless it was already built from the current sources.
import { createHash } from "node:crypto"
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const hashFile = `${root}dist/ui/.vite/sources`

const hash = createHash("sha256")
for (const folder of ["src/ui", "src/api", "src/domain"]) {
  for (const file of readdirSync(root + folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = `${file.parentPath}/${file.name}`
    hash.update(path.slice(root.length)).update(readFileSync(path))
  }
}
hash.update(readFileSync(`${root}package-lock.json`))
const sources = hash.digest("hex")

const builtSources = () => {
  try {
    return readFileSync(hashFile, "utf8")
  } catch {
    return undefined
  }
}

if (builtSources() !== sources) {
  const { build } = await import("vite")
  await build({
    configFile: `${root}src/ui/vite.config.ts`,
    logLevel: "warn",
    build: {
      rollupOptions: {
        // `use client` directives, which matter to frameworks that render on servers only.
        onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning)
      }
    }
  })
  // The font may be passed on with its license only.
  copyFileSync(`${root}node_modules/@fontsource-variable/inter/LICENSE`, `${root}dist/ui/inter-license.txt`)
  writeFileSync(hashFile, sources)
}
