import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/faults/recovery/recovery.ts"],
    globalSetup: ["test/faults/support/bundle.mjs"],
    pool: "forks",
    disableConsoleIntercept: true,
    hookTimeout: 180_000
  }
})
