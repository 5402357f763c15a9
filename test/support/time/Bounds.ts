import { expect } from "@effect/vitest"
import { cpuTimeOf } from "./CpuTime.ts"

/**
 * In MB, and in milliseconds of a processor. An evaluation within its budget takes 20 and 130 at most, so no load on the
 * machine reaches these. Without a bound they would be the end of the process, and minutes.
 */
const [mostMemory, mostTime] = [1_000, 20_000]

/** Expects the evaluation to stay within bounds. The process's memory must not have been larger before. */
export const inBounds = (what: string, work: () => void): void => {
  const memory = process.resourceUsage().maxRSS
  expect(cpuTimeOf(work), what).toBeLessThan(mostTime)
  expect((process.resourceUsage().maxRSS - memory) / 1000, what).toBeLessThan(mostMemory)
}
