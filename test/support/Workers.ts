import { readFileSync } from "node:fs"

/** The workers of a server, as process ids by worker number. */
export const workersOf = (primary: number): ReadonlyMap<number, number> =>
  new Map(
    childrenOf(primary).flatMap((pid) => {
      const number = /(?:^|\0)WEBHOOK_TRIGGER_WORKER=(\d+)\0/.exec(read(`/proc/${pid}/environ`))?.[1]
      return number === undefined ? [] : [[Number(number), pid] as const]
    })
  )

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const childrenOf = (pid: number): ReadonlyArray<number> =>
  read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number)

/** Empty for a process that has ended. */
const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}
