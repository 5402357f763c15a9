/**
 * `npm run bench`: the speed and cost of triggers, beside rivals that do the same work in the same minutes. Waiting
 * callers are measured side by side. For the others, each contender has a turn in every round.
 */
import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { installForBench } from "../support/install.ts"
import { cleanUpAtExit } from "../support/Process.ts"
import type { Contender } from "./Contender.ts"
import { makeLoad } from "./load/Wrk.ts"
import { busyness, machine } from "./Machine.ts"
import type { Figures } from "./Measures.ts"
import { type Options, readOptions } from "./Options.ts"
import { here, oursIn, shared, versionOf } from "./Ours.ts"
import { writePage } from "./Page.ts"
import { installRivals } from "./Programs.ts"
import { redisVersion } from "./Redis.ts"
import { report } from "./Report.ts"
import { byHand, limits, rivals } from "./Rivals.ts"
import { startServices } from "./Services.ts"
import { measureWaiting } from "./SideBySide.ts"
import { takeTurn } from "./Turn.ts"

/** In the order of their turns. The first one is the base of the ratios. */
const contendersFor = ({ compare, only }: Options): ReadonlyArray<Contender> => {
  const all = [
    byHand,
    ...(compare === undefined ? [] : oursIn(compare, "compared", `ours at ${versionOf(compare)}`)),
    ...oursIn(here, "ours", "ours"),
    shared,
    ...rivals,
    ...limits
  ]
  const unknown = only.filter((name) => all.every((contender) => contender.name !== name))
  if (unknown.length > 0) {
    throw new Error(`no contender ${unknown.join(", ")}; there are ${all.map(({ name }) => name).join(", ")}`)
  }
  return only.length === 0 ? all : all.filter(({ name }) => only.includes(name))
}

const run = async (options: Options, dir: string): Promise<void> => {
  const contenders = contendersFor(options)
  const { load, name: generator } = makeLoad(options.load)
  const begin = performance.now()
  const busy = busyness()
  const services = await startServices(dir)
  const bench = { services, load, seconds: options.seconds }
  const waiting = await measureWaiting(contenders, bench, options.rounds)
  const results = new Map(contenders.map((contender) => [contender, [] as Array<Figures>]))
  for (let round = 0; round < options.rounds; round++) {
    for (const contender of contenders) {
      console.log(`triggers that do not wait, round ${round + 1} of ${options.rounds}: ${contender.title}`)
      results.get(contender)!.push({ ...waiting.get(contender)?.[round], ...(await takeTurn(contender, bench)) })
    }
  }
  await services.stop()
  const { postgres, rabbitmq } = services.versions
  const minutes = ((performance.now() - begin) / 60_000).toFixed(0)
  const { seconds } = options
  const facts = [
    `\`${options.command}\`, ${new Date().toISOString().slice(0, 10)}: rounds: ${options.rounds}; minutes: ${minutes}`,
    `${machine()}; load average ${busy} before the start`,
    `Node ${process.version}, PostgreSQL ${postgres}, RabbitMQ ${rabbitmq}, Redis ${redisVersion()}; load from ${generator}; ours at ${versionOf(here)}`,
    `Seconds for each turn: warm-up up to 3 x ${seconds.warmUp} and ${seconds.warmAgain} each time, one caller ${seconds.alone}, waiting callers ${seconds.waiting}, accepting ${seconds.accepting}`
  ]
  const tables = report(results, contenders[0]!)
  console.log(`\n${facts.join("\n")}\n\n${tables}`)
  if (options.write) writePage({ facts, contenders, tables, quick: options.quick })
}

const options = readOptions(process.argv.slice(2))
installForBench()
installRivals()
const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-bench-"))
// PostgreSQL runs as another user and must reach its folder.
chmodSync(dir, 0o755)
const cleanUp = cleanUpAtExit(dir)
try {
  await run(options, dir)
} finally {
  await cleanUp()
}
process.exit(0)
