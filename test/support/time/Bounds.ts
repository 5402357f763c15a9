import { expect } from "@effect/vitest"
import { cpuTimeOf } from "./CpuTime.ts"

/** In MB. The budget of an evaluation is ten million characters, some of which take four bytes for a moment. */
const mostMemory = 400
/** In milliseconds of a processor. Without a bound these would be minutes, and the end of the process. */
const mostTime = 3_000

/** Expects the evaluation to stay within bounds. The process's memory must not have been larger before. */
export const inBounds = (what: string, work: () => void): void => {
  const memory = process.resourceUsage().maxRSS
  expect(cpuTimeOf(work), what).toBeLessThan(mostTime)
  expect((process.resourceUsage().maxRSS - memory) / 1000, what).toBeLessThan(mostMemory)
}
