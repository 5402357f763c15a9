import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"

/** Milliseconds between two checks of how many processes want to run. */
const interval = 250
/** Lower values are not used, since every wait must end. */
const least = 0.25

const read = (): number => {
  try {
    const runnable = Number(/ (\d+)\//.exec(readFileSync("/proc/loadavg", "utf8"))?.[1])
    return runnable > 0 ? Math.max(least, Math.min(1, availableParallelism() / runnable)) : 1
  } catch {
    return 1
  }
}

/**
 * The share of CPU time that a process gets if it wants to run: the machine's cores, divided among all such processes.
 * 1 if the system does not report it.
 */
export class FairShare {
  private value = read()
  private readAt = performance.now()

  now(): number {
    const now = performance.now()
    if (now - this.readAt >= interval) {
      this.value = read()
      this.readAt = now
    }
    return this.value
  }
}
