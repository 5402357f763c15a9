import { defineConfig } from "vitest/config"
import { FastFirst } from "./test/support/FastFirst.ts"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/services.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
    minWorkers: 1,
    fileParallelism: true,
    // Of the tests of one file that may run side by side: each of them starts servers.
    maxConcurrency: 4,
    sequence: { sequencer: FastFirst }
  }
})
