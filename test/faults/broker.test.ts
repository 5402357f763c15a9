/** The broker goes away, blocks, or comes back: triggers get a 202 or a 503 in bounded time, and every 202 ends. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, vi } from "vitest"
import type { Call } from "./support/Callers.ts"
import { answerTo } from "./support/RecordingLeader.ts"
import { privateServices, rowOn, type Stage } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 240_000 })

let broken: Awaited<ReturnType<typeof privateServices>>
beforeAll(async () => {
  broken = await privateServices({ rabbitmq: true })
}, 180_000)
afterAll(() => broken.close())
const row = rowOn(() => broken.services)

/**
 * Two replicas, four teams with leaders of uneven speed, one webhook each, one of them with a limit of its own. Callers
 * wait for longer than the broker is away.
 */
const busy = async (stage: Stage) => {
  const env = { WEBHOOK_TIMEOUT: "300" }
  const servers = [await stage.server({ env }), await stage.server({ env })]
  const teams = ["a", "b", "c", "d"]
  const hooks = await Promise.all(
    teams.map((team) => stage.hook(servers[0]!, { team, ...(team === "a" && { max_concurrent: 2 }) }))
  )
  for (const team of teams) {
    await stage.leader(team, {
      handle: async ({ prompt }) => {
        await sleep(Math.random() * 8)
        return answerTo(prompt)
      }
    })
  }
  for (const team of teams) for (const server of servers) await stage.running(server, team)
  const limits = { global: 20, webhooks: { [hooks[0]!.id]: 2 } }
  return { servers, hooks, limits }
}

const slowest = (calls: ReadonlyArray<Call>) =>
  Math.max(
    0,
    ...calls.filter(({ mode }) => mode === "async").map(({ asked_at, told_at }) => (told_at ?? Infinity) - asked_at)
  )

describe("the broker", () => {
  for (const [how, end] of [
    ["SIGTERM", () => broken.rabbitmq.stop()],
    ["kill -9", () => broken.rabbitmq.kill()]
  ] as const) {
    row(`row 7: broker ${how} under load: triggers are bounded, and every 202 ends`, async ({ stage }) => {
      const { servers, hooks, limits } = await busy(stage)
      const stop = stage.callers.load(servers, hooks, { lanes: 8 })
      await until("work is going on", () => stage.deliveries.length > 150)
      await end()
      try {
        await until("the loss is noticed", () => stage.callers.calls.some(({ status }) => status === 503))
      } finally {
        await broken.rabbitmq.start()
      }
      const before = stage.deliveries.length
      await until("work goes on", () => stage.deliveries.length > before + 150, 30_000)
      const calls = await stop()
      // 409: the broker is back before the leader is.
      expect(calls.filter(({ status }) => ![200, 202, 409, 503].includes(status ?? 0))).toEqual([])
      expect(calls.filter(({ status, retry_after }) => status === 503 && !retry_after)).toEqual([])
      expect(slowest(calls)).toBeLessThan(12_000)
      const rows = await stage.checked({ limits, refusalsLeaveNothing: true, settleMs: 90_000 })
      expect(rows.filter(({ status }) => status === "error")).toEqual([])
    })
  }

  row("row 8: memory alarm: 202 or 503, never a hang; all drains after it", async ({ stage }) => {
    const { servers, hooks, limits } = await busy(stage)
    const stop = stage.callers.load(servers, hooks, { lanes: 8 })
    await until("work is going on", () => stage.deliveries.length > 100)
    await broken.rabbitmq.control("set_vm_memory_high_watermark", "absolute", "1")
    const alarmed = stage.callers.calls.length
    await until("a hundred more were told something", () => stage.callers.calls.length > alarmed + 100, 40_000)
    for (const server of servers) expect(await server.health("live")).toBe(200)
    await broken.rabbitmq.control("set_vm_memory_high_watermark", "0.4")
    const before = stage.deliveries.length
    await until("work goes on", () => stage.deliveries.length > before + 100, 30_000)
    const calls = await stop()
    expect(calls.filter(({ status }) => ![200, 202, 503].includes(status ?? 0))).toEqual([])
    expect(slowest(calls)).toBeLessThan(12_000)
    const rows = await stage.checked({ limits, refusalsLeaveNothing: true, settleMs: 90_000 })
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  })
})
