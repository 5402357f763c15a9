import { describe, expect } from "vitest"
import { testSeed } from "../../support/Random.ts"
import { clusterUnderLoad, crashes } from "../support/ClusterUnderLoad.ts"
import { injectFaults } from "../support/Faults.ts"
import { faultTest } from "../support/FaultTest.ts"

/** `npm run soak` goes on for as long as one likes. */
const faults = 6

describe("three servers", () => {
  faultTest(
    `row 24: keep every promise while they are killed at random under load, ${faults} times`,
    { timeout: 420_000 },
    async ({ cluster }) => {
      console.log(`row 24: TEST_SEED=${testSeed}`)
      const running = await clusterUnderLoad(cluster)
      const log = await injectFaults([crashes(running)], {
        isEnough: (done) => done.faults === faults,
        pauseMs: [500, 4000]
      })
      await running.stop()
      const rows = await cluster.checked({ limits: running.limits, limit: 90_000 })
      console.log(
        `row 24: ${log.map(({ fault }) => fault.name).join("; ")}; ${cluster.callers.calls.length} calls, ${rows.length} runs`
      )
      expect(rows.filter(({ status }) => status === "error")).toEqual([])
      expect(rows.filter(({ webhook_id }) => webhook_id === null).length).toBeGreaterThan(0)
    }
  )
})
