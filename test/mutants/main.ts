/**
 * `npm run test:mutants`: how much do the tests notice? It breaks 40 places of `src`, one at a time: it negates a
 * condition, drops a call or swaps two arguments. For each, the suite should fail. A seed chooses the places, so a change
 * of the tests can be judged by the same places before and after.
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

  --seed <n>       chooses the places (1)
  --count <n>      the number of places (40)
  --commit <rev>   whose sources and tests (HEAD); changes that are not committed are left out
  --reach <file>   which tests reach which place: read if the file exists, otherwise measured and written
  --only <n>       only the place with this number; with the file of --reach, without a run of the suite
  --src <path>     only places whose file begins with this path (src/)
  --tests <path>   only tests whose file contains this path; may be repeated`

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
const seed = Number(values.seed)

/** Most mutants are noticed by any test that reaches them, so the first run is short. The last one has all the rest. */
const filesOfRuns = [15, 45, Number.POSITIVE_INFINITY]

/** What notices the change that `tree` has now. Undefined: nothing. */
const noticedBy = async (tree: Tree, files: ReadonlyArray<string>, reach: Reach): Promise<string | undefined> => {
  if (files.length === 0) return undefined
  try {
    await tree.buildProgram()
  } catch (error) {
    return `the build: ${
      String((error as { readonly stderr?: string }).stderr)
        .trim()
        .split("\n")[0]
    }`
  }
  let rest = files
  for (const size of filesOfRuns) {
    const some = rest.slice(0, size)
    rest = rest.slice(size)
    if (some.length === 0) return undefined
    const known = some.map((file) => reach.files[file]!)
    // In milliseconds. A test that hangs should end soon, but the machine may be busier than before.
    const testTimeout = Math.max(30_000, ...known.map(({ longest }) => 4 * Math.ceil(longest)))
    const limit = known.reduce((sum, { duration }) => sum + duration, 240_000)
    const { failure } = await tree.test(limit, "--bail=1", `--testTimeout=${testTimeout}`, ...some)
    if (failure !== undefined) return failure
  }
  return undefined
}

const say = (what: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${what}`)
const short = (text: string) => text.replace(/\s+/g, " ").slice(0, 70)

const run = async (dir: string): Promise<void> => {
  installServices({ postgres: true, rabbitmq: true })
  const [postgres, rabbitmq] = await Promise.all([
    startPostgres({ dir: join(dir, "postgres"), settings: { fsync: "off" } }),
    startRabbitMq({ dir: join(dir, "rabbitmq") })
  ])
  say(`copying and building ${values.commit}`)
  const tree = await Tree.of(values.commit, dir, {
    TEST_DATABASE_URL: postgres.url,
    TEST_AMQP_URL: rabbitmq.url,
    TEST_AMQP_MANAGEMENT_URL: rabbitmq.managementUrl,
    TEST_SEED: process.env.TEST_SEED ?? String(seed)
  })
  say("choosing places")
  const sources = new Map([...tree.sources].filter(([file]) => file.startsWith(values.src)))
  const places = await choosePlaces(seed, Number(values.count), sources, tree.compiling)

  const stored = values.reach
  const isStored = stored !== undefined && existsSync(stored)
  if (!isStored) say("running the suite, to see which tests reach which place")
  const reach: Reach = isStored
    ? JSON.parse(readFileSync(stored, "utf8"))
    : await measureReach(tree, places, dir, values.tests)
  if (stored !== undefined) writeFileSync(stored, JSON.stringify(reach, null, 1))

  const survivors: Array<string> = []
  let tried = 0
  for (const [index, place] of places.entries()) {
    if (values.only !== undefined && Number(values.only) !== index + 1) continue
    tried++
    const name = `${index + 1}. ${keyOf(place)}`
    const source = tree.sources.get(place.file)!
    say(`${name}: ${short(source.slice(place.start, place.end))} -> ${short(place.broken)}`)
    const files = reach.of[keyOf(place)]
    if (files === undefined) throw new Error(`${stored} has other places`)
    const by = await tree.whileChanged(
      [place],
      ({ broken }) => broken,
      () => noticedBy(tree, files, reach)
    )
    say(`   ${by === undefined ? `NOT NOTICED; ${files.length} test files can reach it` : `noticed by ${by}`}`)
    if (by !== undefined) continue
    const patch = createPatch(place.file, source, replaced(source, place, place.broken), "", "", { context: 3 })
    survivors.push(`${name}\n${patch.split("\n").slice(4).join("\n")}`)
  }
  if (survivors.length > 0) console.log(`\nNot noticed. Equivalent, or untested?\n\n${survivors.join("\n")}`)
  console.log(`noticed ${tried - survivors.length} of ${tried} (seed ${seed})`)
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))
const dir = mkdtempSync(join(tmpdir(), "webhook-trigger-mutants-"))
// PostgreSQL runs as another user.
chmodSync(dir, 0o755)
const cleanUp = cleanUpAtExit(dir)
try {
  await run(dir)
} finally {
  await cleanUp()
}
