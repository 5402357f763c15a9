import { describe, expect } from "vitest"
import { strike } from "./support/Chaos.ts"
import { row } from "./support/Stage.ts"
import { killAReplica, killTwoReplicas, stopAReplica, world } from "./support/World.ts"

const minutes = 2

describe("three replicas", () => {
  row(
    `row 24: random kills for ${minutes} minutes under load: the checker finds nothing`,
    { timeout: minutes * 60_000 + 240_000 },
    async ({ stage }) => {
      const seed = Number(process.env.FAULT_SEED ?? Math.floor(Math.random() * 2 ** 32))
      console.log(`row 24: FAULT_SEED=${seed}`)
      const all = await world(stage)
      const faults = [killAReplica(all), killAReplica(all), killTwoReplicas(all), stopAReplica(all)]
      const log = await strike(faults, { seed, ms: minutes * 60_000, pauseMs: [500, 4000] })
      await all.stop()
      const rows = await stage.checked({ limits: all.limits, settleMs: 90_000 })
      console.log(`row 24: ${log.length} faults, ${stage.callers.calls.length} calls, ${rows.length} runs`)
      expect(rows.filter(({ status }) => status === "error")).toEqual([])
      expect(log.length).toBeGreaterThan(5)
    }
  )
})
