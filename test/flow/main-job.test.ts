/** The main job on a real PostgreSQL and a real RabbitMQ, over HTTP, with the built server as a process of its own. */
import { expect } from "vitest"
import { answerWhenOpen } from "../faults/support/Answers.ts"
import type { Cluster } from "../faults/support/Cluster.ts"
import { faultTest as job } from "../faults/support/FaultTest.ts"
import type { RecordingLeader } from "../faults/support/RecordingLeader.ts"
import { Gate } from "../support/Gate.ts"
import { until } from "../support/Until.ts"

/** The prompts that were worked on, in order. What is sent again, as by a slow server, gets the remembered answer. */
const executed = ({ log }: RecordingLeader) => log.filter(({ executed }) => executed).map(({ prompt }) => prompt)

const numbered = (count: number) => Array.from({ length: count }, (_, n) => n)

const inFlight = (cluster: Cluster, webhook?: string) =>
  cluster.storage
    .query(
      `select count(*)::int as count from webhook_trigger.runs
       where admitted_at is not null and finished_at is null ${webhook ? `and webhook_id = '${webhook}'` : ""}`
    )
    .then(([row]) => row?.count)

job(
  "gives a leader 200 triggers of two webhooks and chat messages in exactly their order, one at a time",
  async ({ cluster }) => {
    const { server, webhook, leader } = await cluster.single({ max_concurrent: 1 })
    const other = await cluster.webhook(server, { team: webhook.team, max_concurrent: 5 })
    const accepted: Array<string> = []
    for (const n of numbered(200)) {
      if (n % 5 === 0) {
        const message = `message ${n}`
        await cluster.api(server, "POST", `/api/teams/${webhook.team}/messages`, { message }, [202])
        accepted.push(message)
      } else {
        const call = await cluster.callers.trigger(server, n % 2 === 0 ? webhook : other)
        expect(call.status).toBe(202)
        accepted.push(call.nonce)
      }
    }
    await leader.deliveries(200)
    await cluster.checked({ count: 200, limits: { global: 20, webhooks: { [webhook.id]: 1, [other.id]: 5 } } })
    expect(executed(leader)).toEqual(accepted)
  }
)

job("never has more runs in flight than the global limit, and ends them all", async ({ cluster }) => {
  const server = await cluster.server({ env: { WEBHOOK_MAX_CONCURRENT: "3" } })
  const webhooks = await Promise.all(numbered(5).map((n) => cluster.webhook(server, { team: `team-${n}` })))
  for (const { team } of webhooks) {
    await cluster.leader(team)
    await cluster.running(server, team)
  }
  const calls = await Promise.all(numbered(60).map((n) => cluster.callers.trigger(server, webhooks[n % 5]!)))
  expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 202))
  const rows = await cluster.checked({ count: 60, limits: { global: 3 } })
  expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
})

job(
  "holds all webhooks to the global limit, except one with a higher limit of its own, at once",
  async ({ cluster }) => {
    const server = await cluster.server({ env: { WEBHOOK_MAX_CONCURRENT: "2" } })
    const gate = new Gate()
    const webhooks = await Promise.all(numbered(4).map((n) => cluster.webhook(server, { team: `team-${n}` })))
    for (const { team } of webhooks) {
      await cluster.leader(team, { handle: answerWhenOpen(gate) })
      await cluster.running(server, team)
    }
    for (const webhook of webhooks) expect((await cluster.callers.trigger(server, webhook)).status).toBe(202)
    const [, , , higher] = webhooks
    await until("two are in flight", async () => (await inFlight(cluster)) === 2)
    expect(await inFlight(cluster, higher!.id)).toBe(0)
    await cluster.api(server, "PATCH", `/api/webhooks/${higher!.id}`, { max_concurrent: 3 })
    await until("that of the raised limit is, too", async () => (await inFlight(cluster, higher!.id)) === 1)
    expect(await inFlight(cluster)).toBe(3)
    gate.open()
    await cluster.checked({ count: 4, limits: { global: 2, webhooks: { [higher!.id]: 3 } } })
  }
)

job("answers each of 1,000 callers who wait at once with its own answer", async ({ cluster }) => {
  const server = await cluster.server({ env: { WEBHOOK_TIMEOUT: "300" } })
  const webhooks = await Promise.all(numbered(20).map((n) => cluster.webhook(server, { team: `team-${n}` })))
  for (const { team } of webhooks) {
    await cluster.leader(team)
    await cluster.running(server, team)
  }
  const calls = await Promise.all(
    numbered(1_000).map((n) => cluster.callers.trigger(server, webhooks[n % 20]!, { wait: true }))
  )
  expect(calls.filter(({ status }) => status !== 200)).toEqual([])
  await cluster.checked({ count: 1_000, limits: { global: 20 } })
})

job(
  "answers 408 at the deadline, frees the slot, records the late answer, and never sends a run that got no slot",
  async ({ cluster }) => {
    // Time enough for the first to reach the leader, whatever else the machine does.
    const { server, webhook, leader } = await cluster.single({ timeout_seconds: 15, max_concurrent: 1 })
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const [sent, unsent] = await Promise.all([
      cluster.callers.trigger(server, webhook, { wait: true }),
      leader.deliveries(1).then(() => cluster.callers.trigger(server, webhook, { wait: true }))
    ])
    expect([sent.status, unsent.status]).toEqual([408, 408])
    expect(sent.body).toEqual({ status: "timeout", run_id: leader.log[0]!.run_id })
    expect(await inFlight(cluster)).toBe(0)
    const next = await cluster.callers.trigger(server, webhook)
    gate.open()
    await until("the leader works on the next prompt", () => executed(leader).length > 1)
    expect(executed(leader)).toEqual([sent.nonce, next.nonce])
    const late = `answer to ${sent.nonce}`
    await until("the late answer is recorded", async () => {
      const run = await cluster.api(server, "GET", `/api/runs/${sent.body.run_id}`)
      expect(run.status).toBe("timeout")
      return run.conversation.response === late
    })
    await cluster.checked({ count: 3 })
  }
)

job("finishes in order, after a stop and a start, what was queued and what was running", async ({ cluster }) => {
  const { server, webhook, leader } = await cluster.single({}, { env: { WEBHOOK_MAX_CONCURRENT: "5" } })
  const gate = new Gate()
  leader.handle = answerWhenOpen(gate)
  const calls = await cluster.callers.sequence(
    server,
    numbered(55).map(() => webhook)
  )
  await leader.deliveries(1)
  await server.stop()
  gate.open()
  await server.start()
  const rows = await cluster.checked({ count: 55, limits: { global: 5 } })
  expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
  expect([...new Set(leader.log.map(({ prompt }) => prompt))]).toEqual(calls.map(({ nonce }) => nonce))
})
