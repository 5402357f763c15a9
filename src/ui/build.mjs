// Builds the web UI into dist/ui, unless what is there was made from these very sources.
import { createHash } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const mark = `${root}dist/ui/.vite/sources`

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

const built = () => {
  try {
    return readFileSync(mark, "utf8")
  } catch {
    return undefined
  }
}

if (built() !== sources) {
  const { build } = await import("vite")
  await build({
    configFile: `${root}src/ui/vite.config.ts`,
    logLevel: "warn",
    build: {
      rollupOptions: {
        // Marks for frameworks that render on servers; this one does not.
        onwarn: (warning, warn) => warning.code === "MODULE_LEVEL_DIRECTIVE" || warn(warning)
      }
    }
  })
  writeFileSync(mark, sources)
}
