import { openSync, readSync } from "node:fs"

const ofProcess = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** From Node 22.19 on. */
const ofThread = (process as { threadCpuUsage?: () => NodeJS.CpuUsage }).threadCpuUsage

/** Linux counts each thread's nanoseconds in a file. Reading it takes about as long as `process.cpuUsage`. */
const ofThreadByFile = (): (() => number) | undefined => {
  try {
    const file = openSync("/proc/thread-self/schedstat", "r")
    const buffer = Buffer.alloc(64)
    const read = () =>
      Number.parseInt(buffer.toString("latin1", 0, readSync(file, buffer, 0, buffer.length, 0)), 10) / 1e6
    return read() > 0 ? read : undefined
  } catch {
    return undefined
  }
}

const measureThread = (): (() => number) => {
  if (ofThread === undefined) return ofThreadByFile() ?? ofProcess
  return () => {
    const { user, system } = ofThread.call(process)
    return (user + system) / 1000
  }
}

/**
 * The CPU time of this thread, in milliseconds. Where that cannot be measured (Node before 22.19, outside Linux), it is that
 * of the whole process, which includes the collection of garbage.
 */
export const threadTime: () => number = measureThread()
