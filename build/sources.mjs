import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../", import.meta.url))

/** A hash of these files and of all files of these folders, without those of `except`. What is built from them is current while it stays the same. */
export const hashOf = (paths, except = []) => {
  const hash = createHash("sha256")
  const add = (path) => hash.update(path).update(readFileSync(root + path))
  for (const path of paths) {
    if (!path.endsWith("/")) {
      add(path)
      continue
    }
    const files = readdirSync(root + path, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => `${file.parentPath}/${file.name}`.slice(root.length).replaceAll("//", "/"))
      .filter((file) => !except.some((folder) => file.startsWith(folder)))
    for (const file of files.sort()) add(file)
  }
  return hash.digest("hex")
}
