/** Several servers on one database and one broker: they share the work, and take over from each other. */
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import type { Proxy } from "../../support/Proxy.ts"
import { Stopwatch } from "../../support/time/Stopwatch.ts"
import { until } from "../../support/Until.ts"
import { answerAfter, answerTo, answerWhenOpen } from "../support/Answers.ts"
import type { Webhook } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { measured } from "../support/Measured.ts"
import type { TestServer } from "../support/TestServer.ts"

/** Two servers, the first of which does the work of each second, one team and one webhook. */
const twoServers = async (cluster: Cluster, broker?: Proxy) => {
  const options = broker ? { broker } : {}
  const { server, webhook, leader } = await cluster.single({}, options)
  return { first: server, second: await cluster.server(options), webhook, leader }
}

// Side by side: each of them needs little of the machine.
describe.concurrent("several servers", () => {
  faultTest("give a caller who waits at one the answer that another has consumed", async ({ cluster }) => {
    const { first, second, webhook } = await twoServers(cluster)
    const calls = await Promise.all(
      Array.from({ length: 60 }, (_, n) => cluster.callers.trigger(n % 2 ? first : second, webhook, { wait: true }))
    )
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
    const rows = await cluster.checked({ limits: { global: 20 } })
    const ended = new Map(rows.map(({ id, finished_at }) => [id, finished_at!.getTime()]))
    const delays = calls.map(({ body, answeredAt }) => performance.timeOrigin + answeredAt! - ended.get(body.run_id)!)
    measured("from the end of a run until a caller at another server had the answer", Math.max(...delays))
  })

  faultTest(
    "hold a webhook's queue limit and its rate together, and leave room for the others",
    async ({ cluster }) => {
      const { first, second, webhook, leader } = await twoServers(cluster)
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      const busy = await cluster.webhook(first, { team: webhook.team, max_queued: 10 })
      const rated = await cluster.webhook(first, { team: webhook.team, rate: "15/day" })
      const sendTo = async (webhook: Webhook) => {
        const calls = Array.from({ length: 40 }, (_, n) => cluster.callers.trigger(n % 2 ? first : second, webhook))
        const answers = await Promise.all(calls)
        const refused = answers.filter(({ status }) => status === 429)
        return { codes: new Set(refused.map(({ body }) => body.code)), refused, accepted: 40 - refused.length }
      }
      const limited = await sendTo(rated)
      expect([limited.accepted, [...limited.codes]]).toEqual([15, ["rate_limited"]])
      expect(limited.refused.filter(({ retryAfter }) => !(Number(retryAfter) > 5_000))).toEqual([])
      // The team is at work: none of these is sent.
      const queued = await sendTo(busy)
      expect([...queued.codes]).toEqual(["too_many_queued_of_webhook"])
      expect(queued.accepted).toBeGreaterThanOrEqual(10)
      expect((await cluster.callers.trigger(second, busy)).status).toBe(429)
      expect((await cluster.callers.trigger(second, webhook)).status).toBe(202)
      gate.open()
      await cluster.checked({ refusalsLeaveNothing: true, limits: { global: 20 } })
    }
  )

  faultTest("row 23: apply a change of a webhook or token to the next trigger on another", async ({ cluster }) => {
    const { first, second, webhook } = await twoServers(cluster)
    const status = async (server: TestServer, webhook: Webhook) =>
      (await cluster.callers.trigger(server, webhook)).status
    for (let round = 0; round < 6; round++) {
      const [changed, triggered] = round % 2 ? [first, second] : [second, first]
      const created = await cluster.webhook(changed, { team: webhook.team })
      expect(await status(triggered, created)).toBe(202)

      await cluster.api(changed, "PATCH", `/api/webhooks/${created.id}`, { enabled: false })
      expect(await status(triggered, created)).toBe(404)
      await cluster.api(changed, "PATCH", `/api/webhooks/${created.id}`, { enabled: true })
      expect(await status(triggered, created)).toBe(202)

      await cluster.api(changed, "PATCH", `/api/webhooks/${created.id}`, { prompt_template: "edited" })
      const edited = await cluster.callers.trigger(triggered, created, { wait: true, nonce: "edited" })
      expect(edited.body).toMatchObject({ response: answerTo("edited") })
      cluster.callers.calls.splice(cluster.callers.calls.indexOf(edited), 1)
      await cluster.api(changed, "PATCH", `/api/webhooks/${created.id}`, { prompt_template: "{{nonce}}" })

      const { token } = await cluster.api(changed, "POST", `/api/webhooks/${created.id}/token`)
      expect(await status(triggered, created)).toBe(404)
      expect(await status(triggered, { ...created, token })).toBe(202)

      await cluster.api(changed, "DELETE", `/api/webhooks/${created.id}`)
      expect(await status(triggered, { ...created, token })).toBe(404)
    }
    // A webhook is deleted with its runs: all that is left to check is that the lane is free.
    expect((await cluster.callers.trigger(second, webhook, { wait: true })).status).toBe(200)
    expect(await cluster.storage.rows()).toHaveLength(1)
  })

  faultTest("row 23: edit and delete webhooks whose callers wait at another", async ({ cluster }) => {
    const { first, second, webhook, leader } = await twoServers(cluster)
    const gate = new Gate()
    leader.handle = answerWhenOpen(gate)
    const created = await cluster.webhook(first, { team: webhook.team, timeout_seconds: 30 })
    const earlier = cluster.callers.trigger(second, webhook, { wait: true })
    await leader.deliveries(1)
    const deleted = cluster.callers.trigger(second, created, { wait: true })
    await until("both are accepted", async () => (await cluster.storage.rows()).length === 2)
    await cluster.api(first, "PATCH", `/api/webhooks/${webhook.id}`, { prompt_template: "later", timeout_seconds: 1 })
    await cluster.api(first, "DELETE", `/api/webhooks/${created.id}`)
    expect((await deleted).status).toBe(404)
    gate.open()
    // What was accepted before the edit keeps its prompt and its timeout.
    expect(await earlier).toMatchObject({ status: 200, body: { response: answerTo((await earlier).nonce) } })
    await cluster.checked({ count: 1 })
  })

  for (const [how, breakIt] of [
    ["refuses", (broker: Proxy) => broker.reset({ refuse: true })],
    ["does not answer", (broker: Proxy) => broker.silence("all")]
  ] as const) {
    faultTest(`row 27: others send the prompts when the broker ${how} one of them`, async ({ cluster }) => {
      const broker = await cluster.storage.proxy("broker")
      const [, second] = [await cluster.server({ broker }), await cluster.server()]
      const webhook = await cluster.webhook(second, { team: "deploy", timeout_seconds: 30 })
      const leader = await cluster.leader("deploy", { handle: answerAfter(5) })
      await cluster.running(second, "deploy")
      const stop = cluster.callers.load([second], [webhook], { lanes: 2, pauseMs: 50 })
      await leader.deliveries(50)
      breakIt(broker)
      const before = cluster.deliveries.length
      await until("prompts arrive", () => cluster.deliveries.length > before + 50)
      broker.pass()
      const calls = await stop()
      expect(calls.filter(({ status }) => status !== 200 && status !== 202)).toEqual([])
      const rows = await cluster.checked({ limits: { global: 20 } })
      expect(rows.filter(({ status }) => status !== "success")).toEqual([])
    })
  }

  faultTest("row 27: all go on when the broker is back that none of them reached", async ({ cluster }) => {
    const broker = await cluster.storage.proxy("broker")
    const { first, second, webhook } = await twoServers(cluster, broker)
    expect((await cluster.callers.trigger(first, webhook, { wait: true })).status).toBe(200)
    broker.reset({ refuse: true })
    await until("neither is ready", async () => (await first.health("ready")) + (await second.health("ready")) === 1006)
    broker.pass()
    await until("both are ready", async () => (await first.health("ready")) + (await second.health("ready")) === 400)
    await cluster.running(second, webhook.team)
    expect((await cluster.callers.trigger(second, webhook, { wait: true })).status).toBe(200)
  })

  faultTest("row 25: all start and work when they start together on an empty database", async ({ cluster }) => {
    const servers = await Promise.all([1, 2, 3].map(() => cluster.newServer()))
    await Promise.all(servers.map((server) => server.start()))
    const webhook = await cluster.webhook(servers[0]!, { team: "deploy" })
    await cluster.leader("deploy")
    for (const server of servers) await cluster.running(server, "deploy")
    const calls = await Promise.all(servers.map((server) => cluster.callers.trigger(server, webhook, { wait: true })))
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200])
    await cluster.checked({ count: 3 })
  })
})

describe.concurrent("Idempotency-Key", () => {
  faultTest(
    "gives 100 repeats on three servers at the same time, and one later, one run and one answer",
    async ({ cluster }) => {
      const { first, second, webhook, leader } = await twoServers(cluster)
      const third = await cluster.server()
      const servers = [first, second, third]
      leader.handle = answerAfter(500)
      const options = { wait: true, nonce: "the-same", key: "k-1" }
      const calls = await Promise.all(
        Array.from({ length: 100 }, (_, n) => cluster.callers.trigger(servers[n % 3]!, webhook, options))
      )
      expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
      const later = await cluster.callers.trigger(second, webhook, options)
      expect(later.status).toBe(200)
      expect(new Set([...calls, later].map(({ body }) => body.run_id)).size).toBe(1)
      const other = await cluster.callers.trigger(third, webhook, { ...options, nonce: "another" })
      expect(other).toMatchObject({ status: 422 })
      await cluster.checked({ count: 1 })
      expect(cluster.deliveries).toHaveLength(1)
    }
  )

  faultTest("returns the accepted run to a repeat after the server was killed", async ({ cluster }) => {
    const { first, second, webhook } = await twoServers(cluster)
    await second.at("accepted", "kill")
    const options = { nonce: "the-same", key: "k-2" }
    const lost = await cluster.callers.trigger(second, webhook, options)
    expect(lost.status).toBeUndefined()
    const again = await cluster.callers.trigger(first, webhook, options)
    expect(again.status).toBe(202)
    await cluster.checked({ count: 1 })
    expect(cluster.deliveries).toHaveLength(1)
  })
})

// One after the other: they measure time.
describe("another server", () => {
  faultTest("takes over when the one that does the work of each second is killed", async ({ cluster }) => {
    const { first, second, webhook } = await twoServers(cluster)
    await first.kill()
    const watch = new Stopwatch()
    const call = await cluster.callers.trigger(second, webhook, { wait: true })
    measured("from the end of a server that was killed to the answer of another", watch.stop())
    expect(call.status).toBe(200)
    await cluster.checked({})
  })

  faultTest("takes over when the one that does the work of each second stops cleanly", async ({ cluster }) => {
    const { first, second, webhook } = await twoServers(cluster)
    await first.stop()
    const watch = new Stopwatch()
    const call = await cluster.callers.trigger(second, webhook, { wait: true })
    measured("from the end of a server that was stopped to the answer of another", watch.stop())
    expect(call.status).toBe(200)
    await cluster.checked({})
  })
})
