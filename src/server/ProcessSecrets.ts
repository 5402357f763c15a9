/**
 * Hides secrets from `/proc`, which shows a process's original command line and environment to other processes of the
 * same user. Linux reads both from the process's memory, where they can be overwritten. Deleting a variable from
 * `process.env` does not remove it there.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs"

/** The positions of the command line and the environment in memory: fields 48 to 51 of `/proc/self/stat`. */
const places = () => {
  const stat = readFileSync("/proc/self/stat", "utf8")
  // Starts at the third field, because the second, the program's name, may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [commandLine, commandLineEnd, environment, environmentEnd] = fields.slice(48 - 3, 52 - 3).map(Number) as [
    ...[number, number, number, number]
  ]
  return {
    commandLine: { start: commandLine, length: commandLineEnd - commandLine },
    environment: { start: environment, length: environmentEnd - environment }
  }
}

const overwrite = (
  memory: number,
  { length, start }: { readonly start: number; readonly length: number },
  isSecret: (word: Buffer) => boolean
): void => {
  const words = Buffer.alloc(length)
  readSync(memory, words, 0, length, start)
  for (let from = 0; from < length; ) {
    const next = words.indexOf(0, from)
    const to = next < 0 ? length : next
    if (isSecret(words.subarray(from, to))) writeSync(memory, Buffer.alloc(to - from), 0, to - from, start + from)
    from = to + 1
  }
}

const erase = (variables: ReadonlyArray<string>, secrets: ReadonlyArray<string>): void => {
  const { commandLine, environment } = places()
  const memory = openSync("/proc/self/mem", "r+")
  try {
    overwrite(memory, commandLine, (word) => secrets.some((secret) => word.includes(secret)))
    overwrite(memory, environment, (word) => variables.some((name) => word.indexOf(`${name}=`) === 0))
  } finally {
    closeSync(memory)
  }
}

const shows = (process: number | "self", secrets: ReadonlyArray<string>): boolean =>
  ["environ", "cmdline"].some((file) => {
    const text = readFileSync(`/proc/${process}/${file}`)
    return secrets.some((secret) => text.includes(secret))
  })

/**
 * Removes these environment variables, and command-line arguments with a secret. Returns whether this succeeded; without
 * Linux's `/proc` it returns false.
 */
export const remove = (variables: ReadonlyArray<string>, secrets: ReadonlyArray<string>): boolean => {
  for (const name of variables) delete process.env[name]
  try {
    erase(variables, secrets)
    return !shows("self", secrets)
  } catch {
    return false
  }
}

/** `undefined` if the process belongs to another user or has ended. */
const readable = <A>(attempt: () => A): A | undefined => {
  try {
    return attempt()
  } catch {
    return undefined
  }
}

const parentOf = (pid: number): number =>
  Number(/^PPid:\s*(\d+)/m.exec(readable(() => readFileSync(`/proc/${pid}/status`, "utf8")) ?? "")?.[1] ?? 0)

/** Processes above this one that show a secret, such as an `npx` that has started it. */
export const ancestorsThatShow = (secrets: ReadonlyArray<string>): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let pid = process.ppid; pid > 0; pid = parentOf(pid)) {
    if (readable(() => shows(pid, secrets)) !== true) continue
    const name = readable(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim())
    found.push(`${name} (process ${pid})`)
  }
  return found
}
