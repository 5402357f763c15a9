/**
 * `npm run test:mutants -- --seed 1`: how much the tests notice. It breaks 40 places of `src`, one at a time: negates a
 * condition, drops a call or swaps two arguments. The suite should fail for each. The seed chooses the places, so that a
 * change of the tests can be judged by the same ones before and after.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { createPatch } from "diff"
import { installServices } from "../support/install.ts"
import { startPostgres } from "../support/Postgres.ts"
import { cleanUpAtExit } from "../support/Process.ts"
import { startRabbitMq } from "../support/RabbitMq.ts"
import { choosePlaces, keyOf, replaced } from "./Places.ts"
import { measureReach, type Reach } from "./Reach.ts"
import { Tree } from "./Tree.ts"

const usage = `npm run test:mutants -- [options]

  --seed <n>      chooses the places (1)
  --count <n>     the number of places (40)
  --commit <rev>  the sources and tests (HEAD)
  --reach <file>  which tests reach which places: used if the file exists, otherwise written
  --only <n>      only the place with this number in the table; with --reach, without a run of the suite
  --src <path>    only places in files whose path begins so; src/engine, for example
  --tests <path>  only tests whose path contains this; may be repeated`

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "40" },
    commit: { type: "string", default: "HEAD" },
    reach: { type: "string" },
    only: { type: "string" },
    src: { type: "string", default: "src/" },
    tests: { type: "string", multiple: true, default: [] },
    help: { type: "boolean", default: false }
  }
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const [seed, count] = [Number(values.seed), Number(values.count)]

/**
 * The first run is short, since most mutants are noticed by any test that reaches them. The last one has all the rest.
 */
const filesOfRuns = [15, 45, Number.POSITIVE_INFINITY]

/** What noticed the mutant. Undefined: it survived. */
const noticed = async (tree: Tree, files: ReadonlyArray<string>, reach: Reach): Promise<string | undefined> => {
  try {
    await tree.buildProgram()
  } catch (error) {
    return `the build: ${
      String((error as { readonly stderr?: string }).stderr)
        .trim()
        .split("\n")[0]
    }`
  }
  let begin = 0
  for (const size of filesOfRuns) {
    const some = files.slice(begin, begin + size)
    begin += some.length
    if (some.length === 0) break
    const of = some.map((file) => reach.files[file]!)
    // What hangs should end soon, but a busy machine may be three times as slow.
    const testTimeout = Math.max(60_000, ...of.map(({ longest }) => 3 * Math.ceil(longest)))
    const limit = 240_000 + of.reduce((sum, { seconds }) => sum + seconds * 1000, 0)
    const { failure } = await tree.test(limit, "--bail=1", `--testTimeout=${testTimeout}`, ...some)
    if (failure !== undefined) return failure
  }
  return undefined
}

const oneLine = (text: string) => text.replace(/\s+/g, " ").slice(0, 70)

const run = async (dir: string): Promise<void> => {
  installServices({ postgres: true, rabbitmq: true })
  const [postgres, rabbitmq] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres"), settings: { fsync: "off" } }),
    startRabbitMq({ dir: join(dir, "rabbitmq") })
  ])
  const tree = await Tree.of(values.commit, dir, {
    TEST_DATABASE_URL: postgres.url,
    TEST_AMQP_URL: rabbitmq.url,
    TEST_AMQP_MANAGEMENT_URL: rabbitmq.managementUrl,
    TEST_SEED: process.env.TEST_SEED ?? String(seed)
  })
  const sources = new Map([...tree.sources].filter(([file]) => file.startsWith(values.src)))
  const places = await choosePlaces(seed, count, sources, tree.compiling)

  const stored = values.reach !== undefined && existsSync(values.reach)
  const reach: Reach = stored
    ? JSON.parse(readFileSync(values.reach!, "utf8"))
    : await measureReach(tree, places, dir, values.tests)
  if (values.reach !== undefined && !stored) writeFileSync(values.reach, JSON.stringify(reach, null, 1))

  const survivors: Array<string> = []
  let tried = 0
  for (const [index, place] of places.entries()) {
    if (values.only !== undefined && Number(values.only) !== index + 1) continue
    tried++
    const files = reach.of[keyOf(place)]
    if (files === undefined) throw new Error(`${values.reach} is of other places, without ${keyOf(place)}`)
    const begin = performance.now()
    const by = await tree.whileChanged(
      [place],
      ({ broken }) => broken,
      () => noticed(tree, files, reach)
    )
    const seconds = Math.round((performance.now() - begin) / 1000)
    const source = tree.sources.get(place.file)!
    const change = `${oneLine(source.slice(place.start, place.end))} => ${oneLine(place.broken)}`
    console.log(`${index + 1}. ${keyOf(place)}: ${change}`)
    const result = by === undefined ? `SURVIVED ${files.length} test files` : `noticed by ${by}`
    console.log(`   ${result} (${seconds} s)`)
    if (by !== undefined) continue
    const patch = createPatch(place.file, source, replaced(source, place, place.broken), "", "", { context: 3 })
    survivors.push(`${index + 1}. ${keyOf(place)}\n${patch.split("\n").slice(4).join("\n")}`)
  }
  if (survivors.length > 0) console.log(`\nNot noticed: equivalent, or untested?\n\n${survivors.join("\n")}`)
  console.log(`noticed ${tried - survivors.length} of ${tried} (seed ${seed})`)
}

const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-mutants-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)
const cleanUp = cleanUpAtExit(dir)
try {
  await run(dir)
} finally {
  await cleanUp()
}
