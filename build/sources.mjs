import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../", import.meta.url))

/**
 * A hash of these files and of all files of these folders, without those of `except`. What is built from them is current
 * while it stays the same.
 */
export const hashOf = (paths, except = []) => {
  const hash = createHash("sha256")
  const filesOf = (path) => {
    if (!path.endsWith("/")) return [path]
    return readdirSync(root + path, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => relative(root, join(file.parentPath, file.name)))
      .filter((file) => !except.some((folder) => file.startsWith(folder)))
      .sort()
  }
  for (const file of paths.flatMap(filesOf)) hash.update(file).update(readFileSync(root + file))
  return hash.digest("hex")
}

/** Whether the file of this path is there and ends with the text. */
export const endsWith = (path, text) => {
  try {
    return readFileSync(path, "utf8").endsWith(text)
  } catch {
    return false
  }
}
