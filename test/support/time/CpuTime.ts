import { threadTime } from "../../../src/runtime/ThreadTime.ts"

/** The CPU time that the work takes, in milliseconds, whatever other threads and processes do. */
export const cpuTimeOf = (work: () => void): number => {
  const before = threadTime()
  work()
  return threadTime() - before
}
