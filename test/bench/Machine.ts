import { cpus, loadavg, release, totalmem } from "node:os"

/** What the figures were measured on. */
export const machine = (): string => {
  const [first] = cpus()
  const memory = (totalmem() / 2 ** 30).toFixed(0)
  return `${cpus().length} cores (${first?.model.trim() ?? "unknown"}), ${memory} GiB of memory, Linux ${release().split(".", 2).join(".")}`
}

/** How busy the machine was before anything was started. */
export const busyness = (): string => loadavg()[0]!.toFixed(1)
