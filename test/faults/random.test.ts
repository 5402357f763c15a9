import { describe, expect } from "vitest"
import { testSeed } from "../support/Random.ts"
import { clusterUnderLoad, crashes } from "./support/ClusterUnderLoad.ts"
import { injectFaults } from "./support/Faults.ts"
import { faultTest } from "./support/FaultTest.ts"

/** Milliseconds. `npm run soak` goes on for as long as one likes. */
const duration = 60_000

describe("three servers", () => {
  faultTest(
    "row 24: keep every promise while they are killed at random under load for a minute",
    { timeout: duration + 240_000 },
    async ({ cluster }) => {
      console.log(`row 24: TEST_SEED=${testSeed}`)
      const running = await clusterUnderLoad(cluster)
      const log = await injectFaults(crashes(running), { ms: duration, pauseMs: [500, 4000] })
      await running.stop()
      const rows = await cluster.checked({ limits: running.limits, limit: 90_000 })
      console.log(`row 24: ${log.length} faults, ${cluster.callers.calls.length} calls, ${rows.length} runs`)
      expect(rows.filter(({ status }) => status === "error")).toEqual([])
      expect(log.length).toBeGreaterThan(5)
    }
  )
})
