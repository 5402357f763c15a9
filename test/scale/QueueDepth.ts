/** Whether a long queue slows down its own dispatch. */
import { setTimeout as sleep } from "node:timers/promises"
import { openPlace, type Place } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { queryPostgres } from "../support/Postgres.ts"
import { until } from "../support/Until.ts"
import { formatted, type Measured, medianOf } from "./Report.ts"
import { migrated, openQueue } from "./Seed.ts"
import { startLeader, startServer } from "./Server.ts"

const team = "team-1"

/** Prompts per second at the leader of one team, whose queue always has this many runs. */
const dispatchRate = async (place: Place, depth: number, seconds: number): Promise<number> => {
  const prompts = await startLeader(place, [team])
  await migrated(place.databaseUrl)
  const queue = await openQueue(place.databaseUrl, [team])
  try {
    await queue.add(depth)
    await queryPostgres(place.databaseUrl, "vacuum analyze")
    await startServer(place)
    await until("the first prompt", async () => (await prompts()) > 0)
    let added = depth
    const refill = async (until: number) => {
      while (performance.now() < until) {
        const missing = depth - (added - (await prompts()))
        if (missing > 0) await queue.add(missing)
        added += Math.max(0, missing)
        await sleep(20)
      }
    }
    await refill(performance.now() + 2_000)
    const [begin, before] = [performance.now(), await prompts()]
    await refill(begin + seconds * 1000)
    return ((await prompts()) - before) / ((performance.now() - begin) / 1000)
  } finally {
    await queue.close()
  }
}

export const measureQueueDepth = async (services: Services, rounds: number, most: number): Promise<Measured> => {
  const depths = [100, most]
  const rates = new Map(depths.map((depth) => [depth, [] as Array<number>]))
  for (let round = 0; round < rounds; round++) {
    // The first one has the quieter machine, or the colder one.
    for (const depth of round % 2 === 0 ? depths : depths.toReversed()) {
      const place = await openPlace(services)
      try {
        rates.get(depth)!.push(await dispatchRate(place, depth, 5))
      } catch (error) {
        throw new Error(place.output(), { cause: error })
      } finally {
        await place.close()
      }
    }
  }
  const [short, long] = depths.map((depth) => rates.get(depth)!)
  return {
    title: "A long queue",
    head: ["queued for one team", "dispatched/s", "ratio (goal 0.95, at least 0.9)"],
    rows: [
      [formatted(depths[0]!), formatted(medianOf(short!)), "1.00"],
      [formatted(depths[1]!), formatted(medianOf(long!)), formatted(medianOf(long!.map((n, i) => n / short![i]!)), 2)]
    ],
    notes: [
      `${rounds} rounds. The queue is written into the database, vacuumed before anything is measured, and ` +
        "refilled every 20 ms, both times alike."
    ]
  }
}
