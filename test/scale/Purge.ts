/** Whether removing old runs slows down triggers. */
import type { Load } from "../bench/load/Load.ts"
import { queryPostgres } from "../support/Postgres.ts"
import type { Filled } from "./Pages.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { createWebhook, startLeader, startServer } from "./Server.ts"

const team = "purge"

/** Maximum duration of a purge, in windows. */
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
  await first.stop()

  /** Sends triggers without a pause while `goesOn` returns true after a window. The first one only warms up. */
  const windows = async (
    settings: Readonly<Record<string, string>>,
    goesOn: (measured: number) => Promise<boolean>
  ) => {
    const server = await startServer(place, { settings })
    const { id, trigger } = await createWebhook(server, team)
    const rates: Array<number> = []
    do {
      const { broken, refused, requests, seconds: took } = await load({ urls: [trigger], connections: 64, seconds })
      if (refused + broken > 0) throw new Error(`${refused} triggers were refused, ${broken} connections broke`)
      rates.push(requests / took)
    } while (rates.length < mostWindows && (await goesOn(rates.length - 1)))
    // Removes the waiting runs, so that no phase begins with the queue of another.
    await server.request("DELETE", `/api/webhooks/${id}`)
    await server.stop()
    return rates.slice(1)
  }
  const quietly = () => windows({}, async (measured) => measured < 3)

  const without = [...(await quietly())]
  const before = await left()
  const begin = performance.now()
  let took = 0
  const during = await windows({ RUN_RETENTION: `${age} seconds` }, async () => {
    took = (performance.now() - begin) / 1000
    return (await left()) > 0
  })
  const removed = before - (await left())
  // The purge ended within the last window.
  if (removed === before) during.pop()
  without.push(...(await quietly()))
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
