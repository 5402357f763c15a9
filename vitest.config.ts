import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import "./build/recipes.mjs"
import { TestOrder } from "./test/support/TestOrder.ts"

/**
 * All files with a test clock. They count turns of the event loop, so other tests must not share their process. In one with
 * servers, a test's clock was the system's once in eight times.
 */
const withOwnClock = [
  "test/{engine,runtime}/**/*.test.ts",
  "test/{bus/BusMemory,bus/amqp/CancelListener,bus/amqp/Link,bus/http/silent-server,leader/{Stall,Work},leader/workspace/Lock,leader/agents/AgentTools,http/access/session}.test.ts",
  "test/repo/database/{PostgresClient,TestDatabase}.test.ts"
]

/**
 * Counts the work of a run: `npm run test:all`, after all other files. The more a machine does beside it, the fewer runs
 * share a statement.
 */
const cost = ["test/cost/**/*.test.ts"]

/** Every fault at full size, and how long recovery takes: `npm run test:faults`, which runs the daily ones, too. */
const faults = ["test/faults/rows/**/*.test.ts"]

/** What rarely breaks and takes long: `npm run test:all`. */
const release = [
  "test/package/**/*.test.ts",
  "test/repo/RepoSql.pglite.test.ts",
  "test/docs/commands.test.ts",
  "test/deploy/**/*.test.ts",
  "test/ui/frame/reflow.test.ts"
]

// Vitest reports failures with it, and Node 20 does not have it.
if (!("groupBy" in Map)) {
  const groupBy = <A, K>(items: Iterable<A>, keyOf: (item: A) => K): Map<K, Array<A>> => {
    const groups = new Map<K, Array<A>>()
    for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
    return groups
  }
  Object.assign(Map, { groupBy })
}

/**
 * Node options of a worker process: room for Effect's short-lived objects, whose copying takes a tenth of the CPU time, and
 * WebAssembly without optimization, since compiling the database takes longer than that saves: another tenth.
 */
const execArgv = ["--max-semi-space-size=64", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]

const project = (test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration => ({
  test: {
    // In milliseconds, for a busy machine: real servers, brokers and browsers start and stop.
    testTimeout: 240_000,
    hookTimeout: 180_000,
    // The tests of one file that may run at the same time: each of them starts servers.
    maxConcurrency: 4,
    // A worker loads Effect and the rest once, not for each of a hundred files: that took half of the CPU time.
    isolate: false,
    // One more than the two cores of a small machine, because tests wait for a quarter of the time.
    maxWorkers: 3,
    ...(test?.pool === "forks" && { execArgv }),
    ...test
  }
})

export default defineConfig({
  test: {
    globalSetup: ["test/support/services.ts", "test/faults/support/bundle.mjs"],
    // `npm test` runs those that are named "daily".
    projects: [
      project({ name: "daily, own clock", include: withOwnClock, pool: "threads" }),
      project({
        name: "daily",
        include: ["test/**/*.test.ts"],
        exclude: [...configDefaults.exclude, ...withOwnClock, ...cost, ...faults, ...release],
        pool: "forks"
      }),
      project({ name: "cost", include: cost, pool: "forks", sequence: { groupOrder: 1 } }),
      project({ name: "faults", include: faults, pool: "forks" }),
      project({ name: "release", include: release, pool: "forks" })
    ],
    // A failed test shows what it has logged, no other does.
    silent: "passed-only",
    // In milliseconds; the times of all files are shown anyway.
    slowTestThreshold: 30_000,
    sequence: { sequencer: TestOrder }
  }
})
