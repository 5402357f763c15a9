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
    sequence: { sequencer: FastFirst }
  }
})
