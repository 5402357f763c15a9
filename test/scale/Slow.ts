/** The statements that PostgreSQL logs as slow. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const slowMillis = 50

/** For `startPostgres`. */
export const slowLog = { log_min_duration_statement: String(slowMillis), log_line_prefix: "@%d " }

interface Slow {
  readonly millis: number
  readonly statement: string
}

export interface SlowStatements {
  /** Those of a database since the previous call. */
  readonly take: (database: string) => ReadonlyArray<Slow>
}

const line = /^@(\S*) LOG: {2}duration: ([\d.]+) ms {2}[^:]+: ([\s\S]*?)(?=\n@|(?![\s\S]))/gm

export const watchSlow = (dir: string): SlowStatements => {
  const read = new Map<string, number>()
  return {
    take: (database) => {
      const log = readFileSync(join(dir, "postgres/output.log"), "utf8")
      const text = log.slice(read.get(database) ?? 0)
      read.set(database, log.length)
      return Array.from(text.matchAll(line), ([, name, millis, statement]) => ({ name, millis, statement }))
        .filter(({ name }) => name === database)
        .map(({ millis, statement }) => ({
          millis: Number(millis),
          statement: statement!.replaceAll(/\s+/g, " ").slice(0, 120)
        }))
    }
  }
}
