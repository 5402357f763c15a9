/** Prompts that the broker had confirmed are lost: with a deleted queue, in a purged one, with the broker's disk. */
import { once } from "node:events"
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerAfter, answerWhenOpen } from "../support/Answers.ts"
import type { Call } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { teamQueue } from "../support/TeamQueue.ts"
import type { TestServer } from "../support/TestServer.ts"

/** Milliseconds within which a lost prompt is with its leader again; the runs' own timeout is a minute. */
const noticed = 15_000

const sent = (cluster: Cluster, count: number) =>
  until(`${count} runs are marked as sent`, async () => {
    const rows = await cluster.storage.rows()
    return rows.filter(({ status }) => status === "running").length === count
  })

/** What the leaders were given for the first time, in this order. */
const order = (cluster: Cluster) => [...new Set(cluster.deliveries.map(({ prompt }) => prompt))]
const nonces = (calls: ReadonlyArray<Call>) => calls.map(({ nonce }) => nonce)

const allSucceed = async (cluster: Cluster, calls: ReadonlyArray<Call>, limit = noticed) => {
  const rows = await cluster.checked({ count: calls.length, limit })
  expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  expect(order(cluster)).toEqual(nonces(calls))
}

/** How often the server said that something was lost. */
const losses = (server: TestServer) => server.output().split("sent again").length - 1

describe.concurrent("lost prompts", () => {
  faultTest("row 26: of a leader that was killed before its queue was deleted", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    leader.handle = "never"
    const calls = await cluster.callers.sequence(server, [webhook])
    await sent(cluster, 1)
    await leader.deliveries(1)
    await leader.crash()
    await cluster.storage.deleteQueue(teamQueue(webhook.team))
    await cluster.leader(webhook.team)
    await until("the run has ended", async () => (await cluster.storage.rows())[0]?.status === "success", noticed)
    expect(nonces(calls)).toEqual(order(cluster))
    expect(losses(server)).toBeGreaterThan(0)
  })

  faultTest("row 26: while no server runs", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const calls = await cluster.callers.sequence(server, [webhook, webhook, webhook])
    await sent(cluster, 1)
    await server.kill()
    const consumesAgain = once(leader, "consuming")
    await cluster.storage.deleteQueue(teamQueue(webhook.team))
    await consumesAgain
    await server.start()
    gate.open()
    await allSucceed(cluster, calls)
  })

  faultTest("row 26: with everything that the broker had", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({ max_concurrent: 1 })
    const other = await cluster.webhook(server, { team: "other" })
    await cluster.leader("other", { handle: "never" })
    await cluster.running(server, "other")
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    await cluster.callers.sequence(server, [webhook, webhook, other])
    await sent(cluster, 2)
    await Promise.all(cluster.leaders.map((one) => one.crash()))
    await cluster.storage.loseBroker()
    gate.open()
    for (const { team } of [webhook, other]) await cluster.leader(team)
    const isAnswered = ({ status }: { readonly status: string }) => status === "success"
    await until("all runs are answered", async () => (await cluster.storage.rows()).every(isAnswered), noticed)
  })

  faultTest(
    "row 26: one that had started, in a queue that was purged while its leader was replaced",
    async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single()
      leader.reportsStart = true
      leader.handle = answerWhenOpen(new Gate())
      await cluster.callers.sequence(server, [webhook])
      await until("it has started", async () => (await cluster.storage.rows())[0]?.started_at != null)
      await leader.crash()
      await until("the prompt is back", async () => (await cluster.storage.ready(teamQueue(webhook.team))) === 1)
      await cluster.storage.purgeQueue(teamQueue(webhook.team))
      await cluster.leader(webhook.team)
      await until("the run has ended", async () => (await cluster.storage.rows())[0]?.status === "success", noticed)
      expect(cluster.deliveries.filter(({ executed }) => executed)).toHaveLength(2)
    }
  )

  faultTest("row 26: in a queue that is purged under load", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single()
    leader.handle = answerAfter(20)
    const stop = cluster.callers.load([server], [webhook], { lanes: 3, pauseMs: 100 })
    for (const seen of [30, 60, 90]) {
      await leader.deliveries(seen)
      await cluster.storage.purgeQueue(teamQueue(webhook.team))
    }
    await leader.deliveries(150)
    await stop()
    const rows = await cluster.storage.ended(0, noticed)
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
    // What the team is given next shows the loss. By then a few may have passed, as many as were in flight.
    const accepted = rows.map(({ prompt }) => prompt)
    const overtaken = order(cluster).map((prompt, place) => place - accepted.indexOf(prompt))
    console.log(`row 26: a prompt that was lost under load was overtaken by ${Math.max(...overtaken)} at most`)
  })
})
