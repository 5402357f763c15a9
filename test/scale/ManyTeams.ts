/** Whether many teams with short queues are as fast as few teams with long ones. */
import { openPlace, type Place } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { migrated, openQueue, teamOf } from "./Seed.ts"
import { startLeader, startServer } from "./Server.ts"

/** Runs that end per second, from the first end to the last. `working`: beside that, from the start of the servers on. */
export const endRate = async (
  place: Place,
  teams: number,
  runs: number,
  { servers = 1, working = () => {} }: { readonly servers?: number; readonly working?: () => void } = {}
): Promise<number> => {
  const names = Array.from({ length: teams }, (_, n) => teamOf(n))
  await startLeader(place, names)
  await migrated(place.databaseUrl)
  const queue = await openQueue(place.databaseUrl, names)
  // Each team has had a prompt before, since the first one binds its queue.
  await queue.add(teams)
  const first = await startServer(place)
  await allEnded(place, teams)
  await first.stop()
  await queryPostgres(place.databaseUrl, "delete from webhook_trigger.runs")
  await queue.add(runs)
  await queue.close()
  for (let n = 0; n < servers; n++) await startServer(place)
  working()
  return runs / (await allEnded(place, runs))
}

/** Seconds from the first end to the last. */
const allEnded = async (place: Place, runs: number): Promise<number> => {
  const ended = await until(
    "all runs have ended",
    async () => {
      const [row] = await queryPostgres(
        place.databaseUrl,
        `select count(*)::int as runs, extract(epoch from max(finished_at) - min(finished_at))::float8 as seconds
         from webhook_trigger.runs where finished_at is not null`
      )
      return Number(row?.runs) === runs && { seconds: Number(row?.seconds) }
    },
    600_000,
    500
  )
  return ended.seconds
}

export const measureManyTeams = async (services: Services, rounds: number, runs: number): Promise<Measured> => {
  const counts = [10, runs / 10]
  const rates = new Map(counts.map((count) => [count, [] as Array<number>]))
  for (let round = 0; round < rounds; round++) {
    for (const count of round % 2 === 0 ? counts : counts.toReversed()) {
      const place = await openPlace(services)
      try {
        rates.get(count)!.push(await endRate(place, count, runs))
      } catch (error) {
        throw new Error(place.output(), { cause: error })
      } finally {
        await place.close()
      }
    }
  }
  const [few, many] = counts.map((count) => rates.get(count)!)
  const row = (index: 0 | 1, rates: ReadonlyArray<number>, ratio: number) => [
    `${formatted(counts[index]!)} × ${formatted(runs / counts[index]!)}`,
    formatted(medianOf(rates)),
    formatted(ratio, 2)
  ]
  return {
    title: "Many teams",
    head: ["teams × runs of each", "ended/s", "ratio (goal 0.9, at least 0.8)"],
    rows: [row(0, few!, 1), row(1, many!, medianOf(many!.map((n, i) => n / few![i]!)))],
    notes: [`${rounds} rounds; each team has had a prompt before, and all runs are queued when the server starts.`]
  }
}
