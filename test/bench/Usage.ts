/** Resources of a process and those it has started, from `/proc`. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"]))

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // It has ended in the meantime.
    return ""
  }
}

const treeOf = (pid: number): ReadonlyArray<number> => [
  pid,
  ...read(`/proc/${pid}/task/${pid}/children`)
    .split(" ")
    .filter(Boolean)
    .flatMap((child) => treeOf(Number(child)))
]

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, number) => total + number, 0)

/** User and system time in milliseconds, with that of children that have ended. */
export const cpuMillis = (pid: number): number =>
  sum(
    treeOf(pid).map((each) => {
      const stat = read(`/proc/${each}/stat`)
      // After the name, which may contain anything: state is field 3, utime, stime, cutime, cstime are 14 to 17.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
      return sum(fields.slice(11, 15).map(Number)) * (1000 / ticksPerSecond)
    })
  )

/** Resident memory, in MB. */
export const memoryMegabytes = (pid: number): number =>
  sum(treeOf(pid).map((each) => Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${each}/status`))?.[1] ?? 0) / 1024))
