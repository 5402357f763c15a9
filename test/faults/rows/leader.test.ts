/** Leaders crash, hang, are slow, come in pairs, and lose their queue. */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerAfter, answerWhenOpen } from "../support/Answers.ts"
import type { Call } from "../support/Callers.ts"
import { faultTest } from "../support/FaultTest.ts"
import { teamQueue } from "../support/TeamQueue.ts"

// Side by side: most of the time passes in waits for timeouts.
describe.concurrent("leaders", () => {
  faultTest(
    "row 34: that are not there: signed deliveries wait for one through a server that is killed, and come once, in order",
    async ({ cluster }) => {
      const secret = "It's a Secret to Everybody"
      const { server, webhook, leader } = await cluster.single({
        ...{ input: "payload", prompt_template: "{{payload.variables.nonce}}", when_team_stopped: "queue" },
        ...{ verification: { preset: "github" }, secret }
      })
      await leader.stop()
      const isRunning = async () => (await cluster.api(server, "GET", `/api/teams/${webhook.team}`)).running
      await until("the server sees that the team is not running", async () => !(await isRunning()))
      const deliver = (nonce: string) =>
        cluster.callers.trigger(server, webhook, {
          nonce,
          headers: (body) => ({
            "x-github-event": "push",
            "x-github-delivery": `delivery of ${nonce}`,
            "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`
          })
        })
      const nonces = Array.from({ length: 50 }, (_, n) => `push ${n}`)
      const calls: Array<Call> = []
      for (const nonce of nonces) calls.push(await deliver(nonce))
      expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 202))
      await server.kill()
      await server.start()
      // GitHub's “Redeliver”: before there is a leader, and when the run has ended.
      const redelivered = nonces.flatMap((nonce, n) => (n % 7 === 0 ? [{ nonce, run_id: calls[n]!.body.run_id }] : []))
      const redeliver = async () => {
        for (const { nonce, run_id } of redelivered) expect((await deliver(nonce)).body).toMatchObject({ run_id })
      }
      await redeliver()
      const again = await cluster.leader(webhook.team)
      await again.deliveries(50)
      await cluster.checked({ count: 50 })
      await redeliver()
      const rows = await cluster.checked({ count: 50 })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
      expect(cluster.deliveries.map(({ prompt }) => prompt)).toEqual(nonces)
    }
  )

  faultTest("row 15: two of them on one team never work at the same time", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    // Both remember what either has answered, as with a shared store.
    const answers = new Map<string, Promise<string>>()
    await leader.stop()
    const first = await cluster.leader(webhook.team, { name: "first", answers, handle: answerAfter(20) })
    await cluster.leader(webhook.team, { name: "second", answers, handle: answerAfter(20) })
    await cluster.running(server, webhook.team)
    const calls = await cluster.callers.sequence(
      server,
      Array.from({ length: 40 }, () => webhook)
    )
    await first.deliveries(10)
    await first.crash()
    await cluster.checked({ count: 40, executions: "at least once" })
    expect([...new Set(cluster.deliveries.map(({ leader }) => leader))]).toEqual(["first", "second"])
    const order = [...new Set(cluster.deliveries.map(({ prompt }) => prompt))]
    expect(order).toEqual(calls.map(({ nonce }) => nonce))
  })

  faultTest(
    "row 16: when one never answers, its runs time out, and whoever releases it frees their slots",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single({ timeout_seconds: 1, max_concurrent: 2 })
      leader.handle = "never"
      const other = await cluster.webhook(server, { team: "other" })
      await cluster.leader("other")
      await cluster.running(server, "other")
      const waited = await cluster.callers.trigger(server, webhook, { wait: true })
      expect(waited.status).toBe(408)
      const calls = await cluster.callers.sequence(server, [webhook, webhook, webhook, webhook])
      const meanwhile = await cluster.callers.trigger(server, other, { wait: true })
      expect(meanwhile.status).toBe(200)
      await until("all have ended", async () => {
        await cluster.api(server, "POST", `/api/teams/${webhook.team}/release`)
        return (await cluster.storage.rows()).filter(({ finished_at }) => finished_at !== null).length === 6
      })
      const rows = await cluster.storage.rows()
      expect(rows.filter(({ status }) => status === "timeout").map(({ prompt }) => prompt)).toEqual(
        [waited, ...calls].map(({ nonce }) => nonce)
      )

      await leader.crash()
      const late = await cluster.leader(webhook.team)
      await cluster.running(server, webhook.team)
      await cluster.api(server, "PATCH", `/api/webhooks/${webhook.id}`, { timeout_seconds: 30 })
      const answered = await cluster.callers.trigger(server, webhook, { wait: true })
      expect(answered.status).toBe(200)
      await late.stop()
      await cluster.checked({
        count: 7,
        limits: { global: 20, webhooks: { [webhook.id]: 2 } },
        executions: "at least once"
      })
    }
  )

  faultTest("row 22: whose queue is deleted under load execute every run, once", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({}, { env: { WEBHOOK_MAX_CONCURRENT: "50" } })
    leader.handle = answerAfter(5)
    // No more than the leader can do, or they would fill the queue while a lost one goes unnoticed.
    const stop = cluster.callers.load([server], [webhook], { lanes: 6, pauseMs: 40 })
    for (const seen of [50, 150, 250]) {
      await leader.deliveries(seen)
      await cluster.storage.deleteQueue(teamQueue(webhook.team))
    }
    await leader.deliveries(350)
    const calls = await stop()
    const rows = await cluster.checked({ limit: 90_000, limits: { global: 50 } })
    // 409 while the queue is gone or has no consumer.
    expect(calls.filter(({ status }) => ![200, 202, 409].includes(status ?? 0))).toEqual([])
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  })

  faultTest(
    "row 22: whose queue is deleted and created again at work get all that waits, in its order",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single()
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      const before = await cluster.callers.sequence(server, [webhook, webhook, webhook, webhook])
      await until("it is marked as sent", async () => (await cluster.storage.rows())[0]?.status === "running")
      const consumesAgain = once(leader, "consuming")
      await cluster.storage.deleteQueue(teamQueue(webhook.team))
      await consumesAgain
      const after = await cluster.callers.sequence(server, [webhook, webhook])
      gate.open()
      const rows = await cluster.checked({ count: 6 })
      expect(rows.filter(({ status }) => status !== "success")).toEqual([])
      const order = [...new Set(cluster.deliveries.map(({ prompt }) => prompt))]
      expect(order).toEqual([...before, ...after].map(({ nonce }) => nonce))
    }
  )

  faultTest("row 16: when one is slow, no run behind the one it works on times out", async ({ cluster }) => {
    // All of them take longer than the timeout, and each far less.
    const { server, webhook, leader } = await cluster.single({ timeout_seconds: 10 })
    leader.handle = answerAfter(1_500)
    await cluster.callers.sequence(
      server,
      Array.from({ length: 8 }, () => webhook)
    )
    const rows = await cluster.checked({ count: 8 })
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  })
})
