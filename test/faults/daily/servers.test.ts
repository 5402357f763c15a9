/** Servers that are killed or frozen, and callers who disconnect: each fault once, in its smallest form. */
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerAfter, answerWhenOpen } from "../support/Answers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { freezeServer } from "../support/FrozenServer.ts"

/** The prompts that were worked on, in order. What is sent again, as by a slow server, gets the remembered answer. */
const executed = ({ deliveries }: Cluster) => deliveries.filter(({ executed }) => executed).map(({ prompt }) => prompt)

// Side by side: most of the time passes in waits.
describe.concurrent("a server", () => {
  // First, because it takes longest.
  faultTest(
    "row 21: frozen while it does the work of each second has a successor: limits and order hold",
    async ({ cluster }) => {
      await freezeServer(cluster, { teams: ["a"], handle: answerAfter(5), deliveries: 20 })
    }
  )

  faultTest("row 1: killed before the commit leaves no row, no message and no 202", async ({ cluster }) => {
    const { server, webhook } = await cluster.single()
    await server.at("accept", "kill")
    const lost = await cluster.callers.trigger(server, webhook)
    await server.exited()
    expect(lost.status).toBeUndefined()
    // Which of the two the operating system reports depends on what it had sent before the process ended.
    expect(lost.broken).toMatch(/socket hang up|ECONNRESET/)
    expect(await cluster.storage.rows()).toEqual([])

    await server.start()
    await cluster.running(server, webhook.team)
    const next = await cluster.callers.trigger(server, webhook)
    expect(next.status).toBe(202)
    await cluster.checked({ count: 1, refusalsLeaveNothing: true })
    expect(executed(cluster)).toEqual([next.nonce])
  })

  faultTest(
    "row 2: killed after the commit and before publishing sends all runs after its restart",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single()
      await server.at("admitted", "kill")
      await Promise.all([0, 1, 2, 3, 4].map(() => cluster.callers.trigger(server, webhook)))
      await server.exited()
      const accepted = await cluster.storage.rows()
      // How many depends on which calls were committed together.
      expect(accepted.length).toBeGreaterThan(0)

      await server.start()
      const rows = await cluster.checked({ count: accepted.length })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
      expect(new Set(cluster.deliveries.map(({ run_id }) => run_id)).size).toBe(rows.length)
    }
  )

  faultTest(
    "row 3: killed after the confirmed publish and before it is recorded sends the prompt twice, for one execution",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single()
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      await server.at("published", "kill")
      const call = await cluster.callers.trigger(server, webhook)
      await server.exited()
      await leader.deliveries(1)
      expect((await cluster.storage.rows())[0]).toMatchObject({ status: "queued", sent_at: null })

      await server.start()
      await until("the prompt was sent again", async () => (await cluster.storage.ready("team.deploy")) > 0)
      gate.open()
      const rows = await cluster.checked({ count: 1, limits: { global: 20 } })
      expect(rows[0]).toMatchObject({ status: "success", prompt: call.nonce })
      const [first, second] = await leader.deliveries(2)
      expect(second).toMatchObject({ run_id: first!.run_id, executed: false, redelivered: false })
    }
  )

  faultTest(
    "row 6: killed after the reply's commit and before its acknowledgement changes nothing when that is repeated",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single()
      await server.at("ended", "kill")
      const waiting = cluster.callers.trigger(server, webhook, { wait: true })
      await server.exited()
      await waiting
      const [before] = await cluster.storage.rows()
      expect(before).toMatchObject({ status: "success" })
      await until(
        "the reply is back in its queue",
        async () => (await cluster.storage.ready("webhook.replies.inbox")) === 1
      )

      await server.start()
      await until("the reply is acknowledged", async () => (await cluster.storage.ready("webhook.replies.inbox")) === 0)
      const after = await cluster.callers.trigger(server, webhook, { wait: true })
      expect(after.status).toBe(200)
      const rows = await cluster.checked({ count: 2 })
      expect(rows[0]).toEqual(before)
      expect(executed(cluster)).toEqual(rows.map(({ prompt }) => prompt))
    }
  )

  faultTest(
    "row 31: killed after a run in work was cancelled frees its slot when the leader is done",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single({ max_concurrent: 1 })
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      const trigger = () => cluster.callers.trigger(server, webhook)
      const calls = [await trigger(), await trigger(), await trigger()] as const
      const [first] = await leader.deliveries(1)
      const queued = (await cluster.storage.rows()).find(({ prompt }) => prompt === calls[1].nonce)!
      for (const id of [first!.run_id, queued.id]) await cluster.api(server, "POST", `/api/runs/${id}/cancel`)
      await server.kill()
      await server.start()
      gate.open()

      const rows = await cluster.storage.ended(3)
      expect(rows.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "success"])
      expect(executed(cluster)).toEqual([calls[0].nonce, calls[2].nonce])
      expect(leader.overlaps).toEqual([])
      const run = await cluster.api(server, "GET", `/api/runs/${first!.run_id}`)
      expect(run.conversation.response).toBe(`answer to ${calls[0].nonce}`)
      const last = await cluster.api(server, "GET", `/api/runs/${rows[2]!.id}`)
      expect(last.started_at >= run.released_at, `${last.started_at} is before ${run.released_at}`).toBe(true)
    }
  )

  faultTest(
    "row 19: goes on with a run whose caller disconnects at any checkpoint, and frees its slot",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single({ max_concurrent: 1 })
      for (const point of ["accept", "accepted", "admitted", "published", "ended"] as const) {
        for (const wait of [false, true]) {
          const nonce = `${point}, ${wait}`
          await server.at(point, "hold")
          const disconnect = new AbortController()
          const call = cluster.callers.trigger(server, webhook, { wait, nonce, signal: disconnect.signal })
          await server.held(point)
          if (point !== "accept") {
            // The broker may confirm the run before this one later than its answer comes: then that one is held, too.
            const isCommitted = async () => (await cluster.storage.rows()).some(({ prompt }) => prompt === nonce)
            await until("the run is committed", isCommitted)
          }
          disconnect.abort()
          await call
          await server.release(point)
          const next = await cluster.callers.trigger(server, webhook, { wait: true })
          expect(next, `after a disconnect at "${point}", wait ${wait}`).toMatchObject({ status: 200 })
        }
      }
      // Before the commit a disconnect may leave no run; from then on it must.
      const rows = await cluster.checked({ limits: { global: 20, webhooks: { [webhook.id]: 1 } } })
      expect(rows.length).toBeGreaterThanOrEqual(18)
      expect(rows.every(({ status }) => status === "success")).toBe(true)
    }
  )
})
