/** `npm run scale`: how costs grow with the number of runs, teams and callers. */
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeLoad } from "../bench/load/Wrk.ts"
import { busyness, machine } from "../bench/Machine.ts"
import { here, versionOf } from "../bench/Ours.ts"
import { openPlace } from "../bench/Place.ts"
import type { Services } from "../bench/Services.ts"
import { installForBench } from "../support/install.ts"
import { queryPostgres, startPostgres } from "../support/Postgres.ts"
import { cleanUpAtExit } from "../support/Process.ts"
import { startRabbitMq } from "../support/RabbitMq.ts"
import { measureDeliveries } from "./Deliveries.ts"
import { measureHttpLeaders } from "./HttpLeaders.ts"
import { measureManyTeams } from "./ManyTeams.ts"
import { measureMcp } from "./Mcp.ts"
import { type Filled, measurePages } from "./Pages.ts"
import { measurePurge } from "./Purge.ts"
import { measureQueueDepth } from "./QueueDepth.ts"
import { type Measured, toMarkdown } from "./Report.ts"
import { migrated, seed } from "./Seed.ts"
import { measureServers } from "./Servers.ts"
import { slowLog, watchSlow } from "./Slow.ts"
import { measureStorage } from "./Storage.ts"
import { measureUntrusted } from "./Untrusted.ts"
import { measureWaitingCallers } from "./WaitingCallers.ts"
import { measureWatchers } from "./Watchers.ts"

const parts = [
  "queue",
  "teams",
  "servers",
  "callers",
  "watchers",
  "deliveries",
  "leaders",
  "mcp",
  "untrusted",
  "storage",
  "pages",
  "purge"
] as const
type Part = (typeof parts)[number]

const usage = `npm run scale -- [options]

  --only <part>   only ${parts.join(", ")}; may be repeated
  --quick         a tenth of everything and a short history, only to show that it works
  --runs <n>      the length of the history (5000000)
  --rounds <n>    the number of rounds of the parts "queue", "teams" and "servers" (3)
  --write         writes test/scale/measured.md`

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    quick: { type: "boolean", default: false },
    runs: { type: "string" },
    rounds: { type: "string" },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false }
  }
})
const unknown = values.only.filter((part) => !parts.includes(part as Part))
if (values.help || unknown.length > 0) {
  console.log(unknown.length > 0 ? `there is no part ${unknown.join(", ")}\n\n${usage}` : usage)
  process.exit(unknown.length > 0 ? 2 : 0)
}
const { quick } = values
const wanted = (part: Part) => values.only.length === 0 || values.only.includes(part)
const scaled = (full: number) => (quick ? full / 10 : full)
const runs = Number(values.runs ?? (quick ? 50_000 : 5_000_000))
const rounds = Number(values.rounds ?? (quick ? 1 : 3))

const startServices = async (dir: string): Promise<Services> => {
  const [postgres, rabbitmq] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres"), settings: slowLog }),
    startRabbitMq({ dir: join(dir, "rabbitmq") })
  ])
  const [row] = await queryPostgres(postgres.url, "show server_version")
  return {
    dir,
    postgres,
    rabbitmq,
    versions: { postgres: String(row?.server_version).split(" ")[0]!, rabbitmq: "" },
    stop: async () => {
      await Promise.all([postgres.stop(), rabbitmq.dispose()])
    }
  }
}

/** Does not wait for the disk: after a crash, the data is seeded again. */
const filled = async (services: Services, runs: number): Promise<Filled> => {
  const place = await openPlace(services)
  await migrated(place.databaseUrl)
  const { url } = services.postgres
  const fsync = async (mode: string) => {
    await queryPostgres(url, `alter system set fsync = ${mode}`)
    await queryPostgres(url, "select pg_reload_conf()")
  }
  await fsync("off")
  await seed(place.databaseUrl, { runs, webhooks: 20, teams: 10, days: 90 })
  await fsync("on")
  return { place, runs }
}

const measure = async (services: Services, tell: (measured: Measured) => void): Promise<void> => {
  const { load } = makeLoad(undefined)
  if (wanted("queue")) tell(await measureQueueDepth(services, rounds, scaled(100_000)))
  if (wanted("teams")) tell(await measureManyTeams(services, rounds, scaled(10_000)))
  if (wanted("servers")) tell(await measureServers(services, rounds, scaled(18_000)))
  if (wanted("callers")) tell(await measureWaitingCallers(services, load, scaled(10_000)))
  if (wanted("watchers")) tell(await measureWatchers(services, load, scaled(1_000), scaled(100), quick ? 1 : 5))
  if (wanted("deliveries")) tell(await measureDeliveries(services, scaled(10_000)))
  if (wanted("leaders")) tell(await measureHttpLeaders(services, scaled(1_000)))
  if (wanted("mcp")) tell(await measureMcp(services, scaled(1_000), quick ? 3 : 9))
  if (wanted("untrusted")) tell(await measureUntrusted(services, scaled(1_000)))
  if (wanted("storage")) tell(await measureStorage(services, scaled(10_000)))
  if (!wanted("pages") && !wanted("purge")) return
  console.log(`writing a history of ${runs} runs`)
  const slow = watchSlow(services.dir)
  const many = await filled(services, runs)
  try {
    if (wanted("pages")) {
      const few = await filled(services, 1_000)
      slow.take(many.place.database)
      tell(await measurePages(few, many, slow, quick ? 10 : 40))
    }
    if (wanted("purge")) tell(await measurePurge(many, load, quick ? 2 : 5, Math.floor(runs / 10)))
  } catch (error) {
    throw new Error(many.place.output(), { cause: error })
  }
}

installForBench()
const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-scale-"))
// PostgreSQL runs as another user and must reach its folder.
chmodSync(dir, 0o755)
const cleanUp = cleanUpAtExit(dir)
try {
  const [busy, started] = [busyness(), performance.now()]
  const services = await startServices(dir)
  const tables: Array<string> = []
  await measure(services, (measured) => {
    tables.push(toMarkdown(measured))
    console.log(`\n${tables.at(-1)}\n`)
  })
  await services.stop()
  const args = process.argv.slice(2)
  const command = ["npm run scale", ...(args.length > 0 ? ["--"] : []), ...args].join(" ")
  const minutes = (performance.now() - started) / 60_000
  const facts = [
    `\`${command}\`, ${new Date().toISOString().slice(0, 10)}; minutes: ${minutes.toFixed(0)}`,
    `${machine()}; load average ${busy} before the start`,
    `Node ${process.version}, PostgreSQL ${services.versions.postgres}; this project at ${versionOf(here)}`
  ].map((fact) => `- ${fact}`)
  console.log(facts.join("\n"))
  const sections = ["# Measured by `npm run scale -- --write`", facts.join("\n"), ...tables]
  if (values.write) writeFileSync(join(here, "test/scale/measured.md"), `${sections.join("\n\n")}\n`)
} finally {
  await cleanUp()
}
process.exit(0)
