import { readFileSync } from "node:fs"
import { availableParallelism } from "node:os"

/** Milliseconds between two looks at how many processes want to run. */
const interval = 250
/** Less is not believed: a wait has to end some time. */
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
 * The part of its time that a process gets which wants to run: the machine's processors, shared by all that do. 1 where the
 * system does not say.
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
