import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/faults/soak/soak.ts"],
    globalSetup: ["test/faults/support/bundle.mjs"],
    pool: "forks",
    disableConsoleIntercept: true
  }
})
