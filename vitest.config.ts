import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import { TestOrder } from "./test/support/TestOrder.ts"

/** The files with a clock of their own, which counts the turns of the event loop that other tests would take. */
const withOwnClock = [
  "test/{engine,runtime}/**/*.test.ts",
  "test/{bus/BusMemory,bus/CancelListener,bus/Link,server/retention,http/access/session}.test.ts"
]

/** Counts what is done together, which depends on how busy the machine is: it runs when all others have ended. */
const alone = ["test/cost/**/*.test.ts"]

/**
 * Node's, of a worker: room for what Effect allocates and soon drops, which is else copied again and again (a tenth of the
 * computing), and WebAssembly that is compiled quickly and not optimized as well, as no test's database lives for long.
 */
const execArgv = ["--max-semi-space-size=64", "--no-wasm-tier-up", "--no-wasm-dynamic-tiering"]

const project = (test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration => ({
  test: {
    // Milliseconds, for a machine that has much else to do: real servers, brokers and browsers start and stop.
    testTimeout: 240_000,
    hookTimeout: 180_000,
    // Of the tests of one file that may run side by side: each of them starts servers.
    maxConcurrency: 4,
    // A worker loads Effect and the rest once, and not for each of a hundred files: that took half of the computing.
    isolate: false,
    ...test
  }
})

export default defineConfig({
  test: {
    globalSetup: ["test/support/services.ts", "test/faults/support/bundle.mjs"],
    projects: [
      project({ name: "own clock", include: withOwnClock, pool: "threads" }),
      project({
        name: "others",
        include: ["test/**/*.test.ts"],
        exclude: [...configDefaults.exclude, ...withOwnClock, ...alone],
        pool: "forks"
      }),
      project({ name: "alone", include: alone, pool: "forks", sequence: { groupOrder: 1 } })
    ],
    isolate: false,
    // One more than the two processors of a small machine: tests also wait, together for a quarter of the time. Of more than
    // one idle worker, Vitest would end one twice, and itself with it.
    poolOptions: { forks: { minForks: 2, maxForks: 3, execArgv }, threads: { minThreads: 1, maxThreads: 1 } },
    sequence: { sequencer: TestOrder }
  }
})
