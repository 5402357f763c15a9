import { cpus, loadavg, release, totalmem } from "node:os"

/** The machine of the measurements. */
export const machine = (): string => {
  const [first] = cpus()
  const memory = (totalmem() / 2 ** 30).toFixed(0)
  return `${cpus().length} cores (${first?.model.trim() ?? "unknown"}), ${memory} GiB of memory, Linux ${release().split(".", 2).join(".")}`
}

/** The load before anything was started. */
export const busyness = (): string => loadavg()[0]!.toFixed(1)
