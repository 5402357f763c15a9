/** The file in which Codex keeps a session. A run that is stopped reports no usage, but the file has it. */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs"
import { join } from "node:path"
import type { SessionUsage } from "../../../domain/run/AgentReport.ts"
import { at, sessionUsage } from "../output/Reading.ts"

/** How much of the file is read, from its end. */
const tail = 512 * 1024
const day = 24 * 60 * 60 * 1_000

/** The folders in which the session may be: by the local day on which it began, which its id, a UUIDv7, says. */
const foldersOf = (home: string, session: string): ReadonlyArray<string> => {
  const began = Number.parseInt(session.replaceAll("-", "").slice(0, 12), 16)
  return [began, began - day, began + day].map((time) => {
    const date = new Date(time)
    const [month, dayOfMonth] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"))
    return join(home, "sessions", String(date.getFullYear()), month!, dayOfMonth!)
  })
}

/** The end of the file. The agent's user may have replaced it, for example by a pipe. */
const endOf = (path: string): string => {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = fstatSync(file)
    if (!found.isFile()) return ""
    const end = Buffer.alloc(Math.min(tail, found.size))
    return end.subarray(0, readSync(file, end, 0, end.length, found.size - end.length)).toString()
  } finally {
    closeSync(file)
  }
}

const totalsIn = (line: string): SessionUsage | undefined => {
  try {
    const used = at(JSON.parse(line), "payload", "info", "total_token_usage")
    return sessionUsage(used as object)
  } catch {
    return undefined
  }
}

/** The whole usage of the session, as far as its file says it. */
export const totalsOf = (
  session: string,
  { CODEX_HOME, HOME = "" }: Readonly<Record<string, string | undefined>>
): SessionUsage | undefined => {
  for (const folder of foldersOf(CODEX_HOME || join(HOME, ".codex"), session)) {
    try {
      const name = readdirSync(folder).find((name) => name.endsWith(`${session}.jsonl`))
      if (name === undefined) continue
      const lines = endOf(join(folder, name)).split("\n")
      const line = lines.findLast((line) => line.includes('"token_count"') && totalsIn(line) !== undefined)
      return line === undefined ? undefined : totalsIn(line)
    } catch {
      // There is no such folder, or this process may not read it.
    }
  }
  return undefined
}
