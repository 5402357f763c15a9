/** Runs are cancelled while the server dies: what was answered holds, no slot is lost, and no lane stops. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { randomFor } from "../../support/Random.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"

const cancel = (cluster: Cluster, server: { readonly url: string }, run_id: string) =>
  cluster.api(server, "POST", `/api/runs/${run_id}/cancel`)

/** The only run so far is cancelled, and the next one of its webhook, which has one slot, is answered. */
const expectFree = async (
  cluster: Cluster,
  server: Awaited<ReturnType<Cluster["single"]>>["server"],
  webhook: Awaited<ReturnType<Cluster["single"]>>["webhook"]
) => {
  await cluster.running(server, webhook.team)
  expect((await cluster.callers.trigger(server, webhook, { wait: true })).status).toBe(200)
  const rows = await cluster.storage.ended(2)
  expect(rows.map(({ status }) => status)).toEqual(["cancelled", "success"])
  const statistics = await cluster.api(server, "GET", `/api/webhooks/${webhook.id}/statistics`)
  expect(statistics.slots_in_use).toBe(0)
}

// Side by side: most of the time passes in waits.
describe.concurrent("row 31: a run is cancelled, and the server is killed between two steps", () => {
  for (const point of ["accepted", "admitted", "published"] as const) {
    faultTest(`before that, at "${point}": it ends once, and its slot is free`, async ({ cluster }) => {
      const { server, webhook, leader } = await cluster.single({ max_concurrent: 1 })
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      await server.at(point, "kill")
      await cluster.callers.trigger(server, webhook)
      await server.exited()
      await server.start()
      const [row] = await cluster.storage.rows()
      expect(await cancel(cluster, server, row!.id)).toMatchObject({ status: "cancelled" })
      gate.open()
      await expectFree(cluster, server, webhook)
    })
  }

  faultTest("after it, when its answer is recorded and not acknowledged: its slot is free", async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({ max_concurrent: 1 })
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const { nonce } = await cluster.callers.trigger(server, webhook)
    const [delivered] = await leader.deliveries(1)
    const { run_id } = delivered!
    await cancel(cluster, server, run_id)
    await server.at("ended", "kill")
    gate.open()
    await server.exited()
    await server.start()
    await expectFree(cluster, server, webhook)
    const run = await cluster.api(server, "GET", `/api/runs/${run_id}`)
    expect(run).toMatchObject({ status: "cancelled", conversation: { response: `answer to ${nonce}` } })
  })
})

faultTest("row 31: runs are cancelled at random while the server is killed again and again", async ({ cluster }) => {
  const random = randomFor("cancellations and kills")
  const { server, webhook, leader } = await cluster.single({ max_concurrent: 2 })
  leader.handle = async ({ prompt }) => {
    await sleep(random.between(0, 20))
    return `answer to ${prompt}`
  }
  const promised = new Set<string>()
  const cancelSome = async () => {
    for (const { id, status } of await cluster.storage.rows()) {
      if ((status !== "queued" && status !== "running") || random.next() < 0.5) continue
      const answer = await cancel(cluster, server, id).catch(() => undefined)
      if (answer?.status === "cancelled") promised.add(id)
    }
  }
  // A busy machine cancels nothing in so short a time: then there are more rounds, and longer ones.
  for (let round = 0; round < 4 || promised.size === 0; round++) {
    const triggers = Array.from({ length: 30 }, () => cluster.callers.trigger(server, webhook))
    const cancelling = cancelSome()
    await sleep(random.between(20, 400 + 100 * round))
    await server.kill()
    await Promise.all([...triggers, cancelling])
    await server.start()
    await cluster.running(server, webhook.team)
  }
  const rows = await cluster.storage.ended()
  const statusOf = new Map(rows.map(({ id, status }) => [id, status]))
  expect([...promised].filter((id) => statusOf.get(id) !== "cancelled")).toEqual([])
  expect(rows.filter(({ status }) => status !== "cancelled" && status !== "success")).toEqual([])
  expect(leader.overlaps).toEqual([])
  const inUse = async () => (await cluster.api(server, "GET", `/api/webhooks/${webhook.id}/statistics`)).slots_in_use
  await until("all slots are free", async () => (await inUse()) === 0)
  const next = await cluster.callers.trigger(server, webhook, { wait: true })
  expect(next.status).toBe(200)
})
