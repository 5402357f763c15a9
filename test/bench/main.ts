/**
 * How fast the trigger is, as a ratio against things measured in the same run: a server that only reads the body and
 * answers, and a bare request and reply over the same broker. `npm run bench -- [seconds]`; about a minute.
 */
import { chmodSync, mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { queryPostgres, startPostgres } from "../support/Postgres.ts"
import { startRabbitMq } from "../support/RabbitMq.ts"
import { bareRoundTrip, connections, historyPages, load, requests, waitedTriggers } from "./Measurements.ts"
import { killAll, serve, startBareServer } from "./Servers.ts"

const seconds = Number(process.argv[2] ?? 8)
/** How long runs are counted that end, after the load. */
const drainSeconds = seconds / 2

const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-bench-"))
chmodSync(dir, 0o755)

const table = (rows: ReadonlyArray<ReadonlyArray<string>>) => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  for (const row of rows) {
    console.log(row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join("  "))
  }
}

try {
  const [postgres, rabbitmq] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres") }),
    startRabbitMq({ dir: join(dir, "rabbitmq") })
  ])
  try {
    await queryPostgres(postgres.url, "CREATE DATABASE bench")
    const databaseUrl = postgres.url.replace(/postgres$/, "bench")

    const bareServer = await startBareServer()
    const bare = await load(bareServer.url, seconds)
    bareServer.kill()

    const embeddedServer = await serve(dir, "embedded", "demo", {})
    const embeddedWait = await waitedTriggers(embeddedServer.trigger)
    const embedded = await load(embeddedServer.trigger, seconds)
    embeddedServer.kill()

    const production = await serve(dir, "production", "bench", { DATABASE_URL: databaseUrl, AMQP_URL: rabbitmq.url })
    const bareWait = await bareRoundTrip(rabbitmq.url)
    const wait = await waitedTriggers(production.trigger)
    const [fewRuns, manyRuns] = await historyPages(production.url, databaseUrl)
    const real = await load(production.trigger, seconds)
    const count = async () =>
      Number(
        (
          await queryPostgres(databaseUrl, "select count(*) from webhook_trigger.runs where finished_at is not null")
        )[0]!.count
      )
    const [ended, from] = [await count(), performance.now()]
    await sleep(drainSeconds * 1000)
    const drained = ((await count()) - ended) / ((performance.now() - from) / 1000)

    const ratio = (value: number, of: number) => (value / of).toFixed(2)
    console.log(`\nTriggers accepted (fire and forget), ${connections} connections, ${seconds} s each`)
    table([
      ["", "per second", "p50 ms", "p99 ms", "ratio"],
      ...Object.entries({
        "bare server, does nothing": bare,
        "embedded (PGlite, in-process bus)": embedded,
        "PostgreSQL and RabbitMQ": real
      }).map(([name, { perSecond, p50, p99 }]) => [
        name,
        perSecond.toFixed(0),
        String(p50),
        String(p99),
        ratio(perSecond, bare.perSecond)
      ])
    ])
    console.log(`\nOne caller who waits for the answer, median of ${requests}`)
    table([
      ["", "ms", "ratio"],
      ["bare request and reply over RabbitMQ", bareWait.toFixed(2), "1.00"],
      ["embedded (PGlite, in-process bus)", embeddedWait.toFixed(2), ratio(embeddedWait, bareWait)],
      ["PostgreSQL and RabbitMQ", wait.toFixed(2), ratio(wait, bareWait)]
    ])
    console.log("\nA page of 20 runs, median of 100")
    table([
      ["", "ms", "ratio"],
      ["of 20", fewRuns.toFixed(2), "1.00"],
      ["20,000 back in 100,000", manyRuns.toFixed(2), ratio(manyRuns, fewRuns)]
    ])
    console.log(`\nRuns of one team finished per second, from a backlog: ${drained.toFixed(0)}`)
    console.log(`(${ratio(drained * bareWait, 1000)} of what one bare request after the other would reach)`)
  } finally {
    killAll()
    await Promise.all([postgres.stop(), rabbitmq.dispose()])
  }
} finally {
  await rm(dir, { recursive: true, force: true })
}
process.exit(0)
