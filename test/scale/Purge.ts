/** Whether removing old runs slows down triggers. */
import type { Load } from "../bench/Load.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"
import type { Filled } from "./Pages.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { createWebhook, type Server, startLeader, startServer } from "./Server.ts"

const team = "purge"

/** Runs that have not ended, read by their indexes: it is asked again and again. */
const working = `
  select (select count(*)::int from webhook_trigger.runs
      where team = '${team}' and status = 'queued' and admitted_at is null)
    + (select count(*)::int from webhook_trigger.runs
      where team = '${team}' and status in ('queued', 'running') and admitted_at is not null) as runs`

/** The longest that a purge is watched, in windows. */
const mostWindows = 20

export const measurePurge = async (
  { place }: Filled,
  load: Load,
  seconds: number,
  toRemove: number
): Promise<Measured> => {
  const query = async (sql: string) => (await queryPostgres(place.databaseUrl, sql))[0]!
  const { age, cutoff } = (await query(
    `select finished_at as cutoff, ceil(extract(epoch from now() - finished_at))::float8 as age
     from webhook_trigger.runs where finished_at is not null order by finished_at offset ${toRemove} limit 1`
  )) as { readonly age: number; readonly cutoff: Date }
  const left = async () =>
    Number(
      (
        await query(
          `select count(*)::int as runs from webhook_trigger.runs where finished_at < '${cutoff.toISOString()}'`
        )
      ).runs
    )
  await startLeader(place, [team])
  const first = await startServer(place)
  await first.request("POST", "/api/teams", { team })
  const path = new URL(await createWebhook(first, team)).pathname
  await first.stop()

  const window = async (server: Server) => {
    const {
      broken,
      refused,
      requests,
      seconds: took
    } = await load({
      urls: [server.url + path],
      connections: 64,
      seconds
    })
    if (refused + broken > 0) throw new Error(`${refused} triggers were refused, ${broken} connections broke`)
    await until("the team has nothing to do", async () => (await query(working)).runs === 0, 600_000, 250)
    return requests / took
  }
  const without: Array<number> = []
  const quietly = async () => {
    const server = await startServer(place)
    await window(server)
    for (let n = 0; n < 2; n++) without.push(await window(server))
    await server.stop()
  }

  await quietly()
  const during: Array<number> = []
  const before = await left()
  // In the first window it is warming up, as the others without a purge.
  const server = await startServer(place, { settings: { RUN_RETENTION: `${age} seconds` } })
  const begin = performance.now()
  await window(server)
  while (during.length < mostWindows) {
    const rate = await window(server)
    if ((await left()) === 0) break
    during.push(rate)
  }
  const removed = before - (await left())
  const took = (performance.now() - begin) / 1000
  await server.stop()
  await quietly()
  const base = medianOf(without)
  return {
    title: `Removing ${formatted(toRemove)} old runs`,
    head: ["", "accepted/s", "ratio (at least 0.9)"],
    rows: [
      ["without", formatted(base), "1.00"],
      ...(during.length === 0
        ? []
        : [["meanwhile", formatted(medianOf(during)), formatted(medianOf(during) / base, 2)]])
    ],
    notes: [
      `64 connections, windows of ${seconds} s with and without. ${formatted(removed)} runs were removed within ` +
        `${formatted(took)} s; ${during.length} windows of that are measured.`
    ]
  }
}
