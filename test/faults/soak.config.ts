import { defineConfig } from "vitest/config"

export default defineConfig({
  test: { include: ["test/faults/soak.ts"], pool: "forks", disableConsoleIntercept: true }
})
