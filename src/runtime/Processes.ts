/** Processes of this machine as `/proc` shows them (proc(5)); on other systems than Linux, nothing is known of them. */
import { readdirSync, readFileSync } from "node:fs"

/** A process that has ended counts as gone, although it has not been waited for. */
const isGone = (state: string | undefined, threads: number): boolean => state === "Z" && threads <= 1

const read = (pid: number | string) => {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const [state, , group] = fields
    return isGone(state, Number(fields[17])) ? undefined : { group: Number(group), born: fields[19] }
  } catch {
    return undefined
  }
}

/** When the process started, by the kernel's count from boot, so that a later process with the same number differs; `""`: it is gone. */
export const bornAt = (pid: number): string => {
  const found = read(pid)
  if (found === undefined) return ""
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${found.born}`
  } catch {
    return ""
  }
}

/** The groups of running programs, each in a group of its own, so that a signal to this process does not reach them. */
const groups = new Set<number>()

/** Returns what takes the group out of `killGroups`. */
export const addGroup = (group: number): (() => void) => {
  groups.add(group)
  return () => groups.delete(group)
}

/** Ends all running programs at once, for a process that is about to end without closing its scopes. */
export const killGroups = (): void => {
  for (const group of groups) signalGroup(group, "SIGKILL")
}

/** The signal that stops this process, once it has arrived. */
export const stop: { signal: NodeJS.Signals | undefined } = { signal: undefined }

/** Signals all processes of the group. Returns false if there is none. */
export const signalGroup = (group: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(-group, name)
  } catch {
    return false
  }
}

/** Whether a process of the group runs. Reads the states of all processes, since a signal also reaches those that have ended. */
export const isGroupAlive = (group: number): boolean => {
  if (!signalGroup(group, 0)) return false
  if (process.platform !== "linux") return true
  return readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && read(pid)?.group === group)
}
