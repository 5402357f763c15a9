import { defineConfig } from "vitest/config"
import { FastFirst } from "./test/support/FastFirst.ts"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/services.ts", "test/faults/support/bundle.mjs"],
    // Milliseconds, for a machine that has much else to do: real servers, brokers and browsers start and stop.
    testTimeout: 240_000,
    hookTimeout: 180_000,
    pool: "forks",
    maxWorkers: 2,
    minWorkers: 1,
    fileParallelism: true,
    // A worker loads Effect and the rest once, and not for each of a hundred files: that took half of the computing. Files
    // with a clock of their own get a worker of their own.
    poolOptions: { forks: { isolate: false }, threads: { isolate: true, minThreads: 1, maxThreads: 1 } },
    poolMatchGlobs: [
      ["**/test/engine/**", "threads"],
      ["**/test/{bus/BusMemory,server/retention,http/session}.test.ts", "threads"]
    ],
    // Of the tests of one file that may run side by side: each of them starts servers.
    maxConcurrency: 4,
    sequence: { sequencer: FastFirst }
  }
})
