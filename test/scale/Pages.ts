/** Whether pages take longer with millions of runs. */

import type { Place } from "../bench/Place.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { webhookIdAt } from "./Seed.ts"
import { type Server, startServer } from "./Server.ts"
import { type SlowStatements, slowMillis } from "./Slow.ts"

/** A database with a history of this length. */
export interface Filled {
  readonly place: Place
  readonly runs: number
}

const day = 24 * 3_600_000
const limit = "limit=20"

/** The requests of the pages. `at` gives the cursor of a place in the history, from 0 (newest) to 1. */
const pagesOf = (run: string, at: (depth: number) => string): ReadonlyArray<readonly [string, string]> => {
  const [first, last] = [webhookIdAt(0), webhookIdAt(19)]
  const ago = (days: number) => new Date(Date.now() - days * day).toISOString()
  const history = `/api/webhooks/${first}/runs?${limit}`
  return [
    ["history, newest", history],
    ["history, in the middle", `${history}&cursor=${at(0.5)}`],
    ["history, oldest", `${history}&cursor=${at(0.999)}`],
    ["history of the rarest webhook", `/api/webhooks/${last}/runs?${limit}`],
    ["history by status, in the middle", `${history}&status=error&cursor=${at(0.5)}`],
    ["history of a day", `${history}&from=${ago(60)}&to=${ago(59)}`],
    ["history of a day, by status", `${history}&status=timeout&from=${ago(60)}&to=${ago(59)}`],
    ["history of a time without runs", `${history}&to=${ago(200)}`],
    ["all runs, newest", `/api/runs?${limit}`],
    ["all runs of a day", `/api/runs?${limit}&from=${ago(60)}&to=${ago(59)}`],
    ["all runs that failed", `/api/runs?${limit}&status=error,timeout`],
    ["all runs that have not ended", `/api/runs?${limit}&status=queued,running`],
    ["all runs, a text that many have", `/api/runs?${limit}&search=deploy`],
    // These two search until their time has passed.
    ["all runs, a text that none has", `/api/runs?${limit}&search=nowhere`],
    ["all runs, a status that none has", `/api/runs?${limit}&status=cancelled`],
    ["all runs, an id", `/api/runs?${limit}&search=${run}`],
    ["a run", `/api/runs/${run}`],
    ["webhooks", "/api/webhooks"],
    ["a webhook", `/api/webhooks/${first}`],
    ["overview: activity of all webhooks", "/api/activity"],
    ["overview: figures of 14 days", "/api/totals"],
    ["statistics of a day", `/api/webhooks/${first}/statistics?range=24h`],
    ["statistics of a week", `/api/webhooks/${first}/statistics?range=7d`],
    ["statistics of a month", `/api/webhooks/${first}/statistics?range=30d`],
    ["teams", "/api/teams"],
    ["a team", "/api/teams/team-1"],
    ["a team's runs", "/api/teams/team-1/runs?limit=30"],
    ["runs of a team without chat messages", "/api/teams/team-10/runs?limit=30"],
    ["/metrics", "/metrics"]
  ]
}

const requestsOf = async ({ place }: Filled) => {
  const [row] = await queryPostgres(
    place.databaseUrl,
    "select seq::float8 as newest, id from webhook_trigger.runs order by id desc limit 1"
  )
  const at = (depth: number) => Buffer.from(String(Math.ceil(Number(row?.newest) * (1 - depth)))).toString("base64url")
  return pagesOf(String(row?.id), at)
}

const timed = async ({ request }: Server, path: string) => {
  const begin = performance.now()
  await request("GET", path)
  return performance.now() - begin
}

/** In alternation, so that a slower machine affects both. */
export const measurePages = async (
  few: Filled,
  many: Filled,
  slow: SlowStatements,
  times: number
): Promise<Measured> => {
  const servers = [await startServer(few.place), await startServer(many.place)] as const
  const requests = [await requestsOf(few), await requestsOf(many)] as const
  const rows: Array<ReadonlyArray<string>> = []
  for (const [index, [name]] of requests[0].entries()) {
    const took = [[] as Array<number>, [] as Array<number>] as const
    for (let n = 0; n < times; n++) {
      for (const side of [0, 1] as const) took[side].push(await timed(servers[side], requests[side][index]![1]))
    }
    const [a, b] = took.map(medianOf) as [number, number]
    rows.push([name, formatted(a, 1), formatted(b, 1), formatted(b / a, 2), formatted(Math.max(...took[1]), 1)])
  }
  for (const server of servers) await server.stop()
  const found = slow.take(many.place.database)
  return {
    title: `Pages, with ${formatted(many.runs)} runs`,
    head: [
      "request, median of ms",
      `${formatted(few.runs)} runs`,
      `${formatted(many.runs)} runs`,
      "ratio (history: goal 1.2, at most 1.5)",
      "slowest"
    ],
    rows,
    notes: [
      [
        `${times} requests of each. Statements over ${slowMillis} ms with ${formatted(many.runs)} runs:`,
        ...(found.length === 0
          ? ["none"]
          : [...new Set(found.map(({ statement }) => statement))].map((statement) => {
              const calls = found.filter((one) => one.statement === statement).map(({ millis }) => millis)
              return `${calls.length} times, at most ${formatted(Math.max(...calls))} ms: \`${statement}\``
            }))
      ].join("\n- ")
    ]
  }
}
