/** The server is killed when an alert has begun or is over, and during the attempts to say so: there is one message each. */
import { Effect, Exit, Scope } from "effect"
import { afterAll, describe, expect } from "vitest"
import { receiver } from "../../support/Receiver.ts"
import { until } from "../../support/Until.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"

const scope = Effect.runSync(Scope.make())
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** Long enough for a measurement of rules, and a start. */
const patience = 90_000

/** A server with an alert destination, which keeps its connections open without an answer until it `answers`. */
const withHangingAlerts = async (cluster: Cluster) => {
  let answers = false
  const { received, url } = await Effect.runPromise(
    Scope.provide(
      receiver({
        "/hook": (response) => {
          if (answers) response.writeHead(200).end()
        }
      }),
      scope
    )
  )
  const { server, webhook } = await cluster.single({}, { env: { CALLBACK_ALLOW: "127.0.0.1" } })
  await cluster.api(server, "POST", "/api/alerts/destinations", { url })
  const { storage } = cluster
  const alertsIn = (state: string) => storage.query(`select id from webhook_trigger.alerts where state = '${state}'`)
  const deliveries = async (): Promise<ReadonlyArray<any>> =>
    (await cluster.api(server, "GET", "/api/alerts/deliveries")).data
  const ids = () => new Set(received.map(({ headers }) => headers["webhook-id"]))

  /** Kills the server once the alert has that state, and again during the attempt to send its message. */
  const killAt = async (state: string, change: () => Promise<unknown>) => {
    const before = ids().size
    answers = false
    await change()
    await until(`the alert is ${state}`, async () => (await alertsIn(state)).length > 0, patience)
    await server.kill()
    await server.start()
    // What the killed server had taken would be due a minute later.
    await storage.query("update webhook_trigger.deliveries set claimed_until = null")
    await until("an attempt is in progress", () => ids().size > before, patience)
    await server.kill()
    answers = true
    await storage.query("update webhook_trigger.deliveries set claimed_until = null")
    await server.start()
    await until(
      "the message is delivered",
      async () => (await deliveries()).every(({ status }) => status === "delivered"),
      patience
    )
  }

  return {
    server,
    webhook,
    killAt,
    /** The message that the alert began, and the one that it is over, each under one ID. */
    expectOneEach: async () => {
      const made = await deliveries()
      expect(made.map(({ event }) => event)).toEqual(["alert.resolved", "alert.firing"])
      expect(ids()).toEqual(new Set(made.map(({ id }) => id)))
      const events = new Map(received.map(({ body, headers }) => [headers["webhook-id"], JSON.parse(body).type]))
      expect(made.map(({ id }) => events.get(id))).toEqual(["alert.resolved", "alert.firing"])
      expect(new Set(made.map(({ alert_id }) => alert_id)).size).toBe(1)
    }
  }
}

describe.concurrent("the messages of an alert", () => {
  faultTest(
    "row 42: the server is killed as a rule's alert begins and ends, and during attempts",
    async ({ cluster }) => {
      const { expectOneEach, killAt, server, webhook } = await withHangingAlerts(cluster)
      const at = `/api/webhooks/${webhook.id}`
      await cluster.api(server, "PATCH", at, { max_runs_per_day: 1 })
      await cluster.api(server, "POST", "/api/alerts/rules", { condition: "budget", webhook_id: webhook.id })
      await killAt("firing", () => cluster.callers.trigger(server, webhook))
      await killAt("resolved", () => cluster.api(server, "PATCH", at, { max_runs_per_day: 1_000 }))
      await expectOneEach()
    }
  )

  faultTest("row 42a: the same with the automatic pause of a webhook", async ({ cluster }) => {
    const { expectOneEach, killAt, server } = await withHangingAlerts(cluster)
    await cluster.api(server, "POST", "/api/teams", { team: "idle" })
    const { webhook } = await cluster.api(server, "POST", "/api/webhooks", {
      ...{ name: "failing", team: "idle", prompt_template: "x", pause_after_failures: 1 },
      // Without a leader, a run ends as an error after a second.
      ...{ when_team_stopped: "queue", queue_for_seconds: 1 }
    })
    const at = `/api/webhooks/${webhook.id}`
    await killAt("firing", () => cluster.api(server, "POST", `${at}/runs`, { variables: {} }, [202]))
    await killAt("resolved", () => cluster.api(server, "POST", `${at}/resume`))
    expect((await cluster.api(server, "GET", at)).paused_at).toBeUndefined()
    await expectOneEach()
  })
})
