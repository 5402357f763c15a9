/**
 * Loaded into the server (`node --expose-gc --import`). At SIGUSR2, it collects garbage and writes the remaining
 * memory.
 */
import { writeFileSync } from "node:fs"

process.on("SIGUSR2", () => {
  globalThis.gc()
  writeFileSync(process.env.MEMORY_FILE, JSON.stringify(process.memoryUsage()))
})
