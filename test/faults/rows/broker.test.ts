/** The broker goes away, blocks, or comes back: triggers are answered 202 or 503 in bounded time, and every run ends. */
import { afterAll, beforeAll, describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { randomFor } from "../../support/Random.ts"
import { until } from "../../support/Until.ts"
import { answerAfter, answerWhenOpen } from "../support/Answers.ts"
import { latency } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTestOn } from "../support/FaultTest.ts"
import { HttpLeader } from "../support/HttpLeader.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"

let own: PrivateServices
beforeAll(async () => {
  own = await privateServices({ rabbitmq: true })
}, 180_000)
afterAll(() => own.close())
const faultTest = faultTestOn(() => own.services)

/**
 * Two servers, four teams with leaders of uneven speed, one webhook each, one of them with a limit of its own. Callers
 * wait for longer than the broker is away.
 */
const busyCluster = async (cluster: Cluster) => {
  const env = { WEBHOOK_TIMEOUT: "300" }
  const servers = [await cluster.server({ env }), await cluster.server({ env })]
  const teams = ["a", "b", "c", "d"]
  const webhooks = await Promise.all(
    teams.map((team) => cluster.webhook(servers[0]!, { team, ...(team === "a" && { max_concurrent: 2 }) }))
  )
  const random = randomFor("work")
  for (const team of teams) await cluster.leader(team, { handle: answerAfter(() => random.between(0, 8)) })
  for (const team of teams) for (const server of servers) await cluster.running(server, team)
  const limits = { global: 20, webhooks: { [webhooks[0]!.id]: 2 } }
  return { servers, webhooks, limits }
}

/**
 * Milliseconds within which a call that does not wait for its run has its answer. The server's own limits are a few seconds;
 * the rest is for a busy machine.
 */
const bound = 60_000

describe("a broker", () => {
  faultTest(
    "row 39: restarted while a leader over HTTP works: it goes on, and no prompt is lost or worked on twice",
    async ({ cluster }) => {
      const servers = [await cluster.server(), await cluster.server()]
      const webhook = await cluster.webhook(servers[0]!, { team: "deploy", when_team_stopped: "queue" })
      const leader = await HttpLeader.start(cluster, servers, webhook.team)
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      await cluster.callers.sequence(servers[0]!, [webhook, webhook, webhook])
      await leader.deliveries(1)
      await own.rabbitmq.stop()
      await own.rabbitmq.start()
      for (const server of servers) await server.ready()
      await cluster.running(servers[0]!, webhook.team)
      gate.open()
      const rows = await cluster.checked({ count: 3, overlaps: leader.overlaps })
      expect(rows.map(({ status }) => status)).toEqual(["success", "success", "success"])
      expect(cluster.deliveries.map(({ prompt }) => prompt)).toEqual(rows.map(({ prompt }) => prompt))
    }
  )

  for (const [how, end] of [
    ["stopped", () => own.rabbitmq.stop()],
    ["killed", () => own.rabbitmq.kill()]
  ] as const) {
    faultTest(
      `row 7: ${how} under load: triggers are answered in bounded time, and every run succeeds`,
      async ({ cluster }) => {
        const { servers, webhooks, limits } = await busyCluster(cluster)
        const stop = cluster.callers.load(servers, webhooks, { lanes: 8, pauseMs: 40 })
        await until("the leaders are working", () => cluster.deliveries.length > 150)
        await end()
        try {
          await until("a call is answered 503", () => cluster.callers.calls.some(({ status }) => status === 503))
        } finally {
          await own.rabbitmq.start()
        }
        const before = cluster.deliveries.length
        await until("the leaders are working again", () => cluster.deliveries.length > before + 150, 30_000)
        const calls = await stop()
        // 503: no broker. 409: the broker is back, the team's leader is not yet.
        expect(calls.filter(({ status }) => ![200, 202, 409, 503].includes(status ?? 0))).toEqual([])
        expect(calls.filter(({ status, retryAfter }) => status === 503 && !retryAfter)).toEqual([])
        expect(calls.filter((call) => call.mode === "async" && latency(call) >= bound)).toEqual([])
        const rows = await cluster.checked({ limits, refusalsLeaveNothing: true, limit: 90_000 })
        expect(rows.filter(({ status }) => status === "error")).toEqual([])
      }
    )
  }

  faultTest(
    "row 8: with a memory alarm: triggers are answered in bounded time, and every run succeeds after it",
    async ({ cluster }) => {
      const { servers, webhooks, limits } = await busyCluster(cluster)
      const stop = cluster.callers.load(servers, webhooks, { lanes: 8, pauseMs: 40 })
      await until("the leaders are working", () => cluster.deliveries.length > 100)
      await own.rabbitmq.control("set_vm_memory_high_watermark", "absolute", "1")
      const calledBefore = cluster.callers.calls.length
      await until("a hundred more calls", () => cluster.callers.calls.length > calledBefore + 100, 40_000)
      for (const server of servers) expect(await server.health("live")).toBe(200)
      await own.rabbitmq.control("set_vm_memory_high_watermark", "0.4")
      const before = cluster.deliveries.length
      await until("the leaders are working again", () => cluster.deliveries.length > before + 100, 30_000)
      const calls = await stop()
      // The broker still answers which queues are consumed, so most calls are accepted; 503 where it does not in time.
      expect(calls.filter(({ status }) => ![200, 202, 503].includes(status ?? 0))).toEqual([])
      expect(calls.filter((call) => call.mode === "async" && latency(call) >= bound)).toEqual([])
      const rows = await cluster.checked({ limits, refusalsLeaveNothing: true, limit: 90_000 })
      expect(rows.filter(({ status }) => status !== "success")).toEqual([])
    }
  )
})
