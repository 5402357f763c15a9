/** Whether several servers do more than one, and how long they wait for each other. */
import pg from "pg"
import { openPlace } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { endRate } from "./ManyTeams.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"

/** In milliseconds, between two looks at what the connections do. */
const every = 20

/** The share of the looks at busy connections that found them waiting for a lock of another one. */
const watchLocks = async (databaseUrl: string) => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  let [busy, waiting] = [0, 0]
  const look = async () => {
    const { rows } = await client.query(
      `select count(*)::int as busy, count(*) filter (where wait_event_type = 'Lock')::int as waiting
       from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`
    )
    busy += rows[0].busy
    waiting += rows[0].waiting
  }
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  return {
    start: () => {
      timer = setInterval(() => {
        looking = look()
      }, every)
    },
    stop: async () => {
      clearInterval(timer)
      await looking
      await client.end()
      return waiting / busy
    }
  }
}

export const measureServers = async (services: Services, rounds: number, runs: number): Promise<Measured> => {
  // As many as have a slot, and many more.
  const cases = [16, runs / 10].flatMap((teams) => [1, 2, 3].map((servers) => ({ teams, servers })))
  const figures = cases.map(() => ({ rates: [] as Array<number>, waits: [] as Array<number> }))
  for (let round = 0; round < rounds; round++) {
    for (const [index, { servers, teams }] of cases.entries()) {
      const place = await openPlace(services)
      const locks = await watchLocks(place.databaseUrl)
      try {
        figures[index]!.rates.push(await endRate(place, teams, runs, { servers, working: locks.start }))
        figures[index]!.waits.push(await locks.stop())
      } catch (error) {
        throw new Error(place.output(), { cause: error })
      } finally {
        await place.close()
      }
    }
  }
  return {
    title: "Several servers",
    head: ["teams × runs of each", "servers", "ended/s", "waiting for a lock, of busy connections"],
    rows: cases.map(({ servers, teams }, index) => [
      `${formatted(teams)} × ${formatted(runs / teams)}`,
      String(servers),
      formatted(medianOf(figures[index]!.rates)),
      `${formatted(medianOf(figures[index]!.waits) * 100)} %`
    ]),
    notes: [
      `${rounds} rounds, on one machine with the database, the broker and the leaders; all runs are queued before.`
    ]
  }
}
