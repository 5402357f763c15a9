/** The broker or the database is killed and started again, with prompts queued and in work: the smallest form of each. */
import { afterAll, beforeAll, describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { until } from "../../support/Until.ts"
import { answerWhenOpen } from "../support/Answers.ts"
import type { Webhook } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTestOn } from "../support/FaultTest.ts"
import { type PrivateServices, privateServices, sharedServices } from "../support/Services.ts"
import type { TestServer } from "../support/TestServer.ts"

let own: PrivateServices
beforeAll(async () => {
  own = await privateServices({ postgres: true, rabbitmq: true })
}, 180_000)
afterAll(() => own.close())

// Each test breaks its own service only, so that they can run side by side.
const onOwnBroker = faultTestOn(() => ({ ...own.services, databaseUrl: sharedServices().databaseUrl }))
const onOwnDatabase = faultTestOn(() => ({ ...sharedServices(), databaseUrl: own.services.databaseUrl }))

/** Time enough for a service to start again while callers wait. */
const env = { WEBHOOK_TIMEOUT: "300" }

/** Calls until one is refused with 503; those before are accepted. */
const refusal = (cluster: Cluster, server: TestServer, webhook: Webhook) =>
  until("a call is refused", async () => {
    const call = await cluster.callers.trigger(server, webhook)
    if (call.status === 202) return false
    expect(call).toMatchObject({ status: 503, body: { code: "unavailable" } })
    expect(call.retryAfter).toMatch(/^\d+$/)
    return true
  })

describe.concurrent("with prompts queued and in work", () => {
  onOwnBroker(
    "row 7: the broker is killed: calls are refused until it is back, and every run succeeds",
    async ({ cluster }) => {
      const { leader, server, webhook } = await cluster.single({}, { env })
      const gate = new Gate()
      leader.handle = answerWhenOpen(gate)
      await cluster.callers.sequence(server, [webhook, webhook, webhook, webhook])
      await leader.deliveries(1)
      await own.rabbitmq.kill()
      await refusal(cluster, server, webhook)
      gate.open()
      await own.rabbitmq.start()
      await server.ready()
      await cluster.running(server, webhook.team)
      const next = await cluster.callers.trigger(server, webhook, { wait: true })
      expect(next.status).toBe(200)
      const rows = await cluster.checked({ count: 5, limits: { global: 20 }, refusalsLeaveNothing: true })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
    }
  )

  onOwnDatabase(
    "row 13: the database is killed: replies that arrive are recorded when it is back",
    async ({ cluster }) => {
      const server = await cluster.server({ env })
      const gate = new Gate()
      const teams = ["a", "b", "c"]
      const webhooks = []
      for (const team of teams) webhooks.push(await cluster.webhook(server, { team }))
      for (const team of teams) await cluster.leader(team, { handle: answerWhenOpen(gate) })
      for (const team of teams) await cluster.running(server, team)
      const waiting = webhooks.map((webhook) => cluster.callers.trigger(server, webhook, { wait: true }))
      const calls = await cluster.callers.sequence(server, [...webhooks, ...webhooks])
      expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 202))
      const working = () => new Set(cluster.deliveries.map(({ team }) => team))
      await until("every team is working", () => working().size === teams.length)
      await own.postgres.kill()
      gate.open()
      const confirmed = () => cluster.deliveries.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined)
      await until("the broker has confirmed an answer of each team", () => confirmed().length >= teams.length)
      await refusal(cluster, server, webhooks[0]!)
      await own.postgres.start()
      const rows = await cluster.checked({ count: 9, limits: { global: 20 } })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(teams.map(() => 200))
    }
  )
})
