/** PostgreSQL goes away, comes back, or is locked: refusals take bounded time, every run ends, no answer is lost. */
import pg from "pg"
import { afterAll, beforeAll, describe, expect } from "vitest"
import { until } from "../../support/Until.ts"
import { latency } from "../support/Callers.ts"
import { faultTest, faultTestOn } from "../support/FaultTest.ts"
import { measured } from "../support/Measured.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"

let own: PrivateServices
beforeAll(async () => {
  own = await privateServices({ postgres: true })
}, 180_000)
afterAll(() => own.close())
const faultTestOnOwnDatabase = faultTestOn(() => own.services)

/**
 * Milliseconds within which a call has an answer, whatever the database does. The server's own limits are a few seconds; the
 * rest is for a busy machine.
 */
const bound = 60_000

describe("PostgreSQL", () => {
  faultTestOnOwnDatabase(
    "row 11: crashes twice under load: triggers are answered in bounded time, and every run ends",
    async ({ cluster }) => {
      // Callers wait for longer than the database is away.
      const env = { WEBHOOK_TIMEOUT: "300" }
      const servers = [await cluster.server({ env }), await cluster.server({ env })]
      const teams = ["a", "b", "c"]
      const webhooks = await Promise.all(
        teams.map((team) => cluster.webhook(servers[0]!, { team, ...(team === "a" && { max_concurrent: 2 }) }))
      )
      for (const team of teams) await cluster.leader(team)
      for (const team of teams) for (const server of servers) await cluster.running(server, team)
      const stop = cluster.callers.load(servers, webhooks, { lanes: 8, pauseMs: 40 })
      for (const _ of [1, 2]) {
        const seen = cluster.deliveries.length
        await until("the leaders are working", () => cluster.deliveries.length > seen + 150, 30_000)
        await own.postgres.crash()
        const before = cluster.callers.calls.length
        try {
          await until("a call is answered 503", () =>
            cluster.callers.calls.slice(before).some(({ status }) => status === 503)
          )
        } finally {
          await own.postgres.start()
        }
      }
      const seen = cluster.deliveries.length
      await until("the leaders are working", () => cluster.deliveries.length > seen + 150, 30_000)
      const calls = await stop()
      // 503 while it is away; else the usual answers of calls that wait and calls that do not.
      expect(calls.filter(({ status }) => ![200, 202, 503].includes(status ?? 0))).toEqual([])
      expect(calls.filter((call) => call.mode === "async" && latency(call) >= bound)).toEqual([])
      await cluster.checked({ limits: { global: 20, webhooks: { [webhooks[0]!.id]: 2 } }, limit: 90_000 })
    }
  )

  faultTestOnOwnDatabase(
    "row 28: crashes before it has stored that a run was sent: the run times out although nobody answers it",
    async ({ cluster }) => {
      // What does not wait for the disk reaches it late.
      await cluster.storage.query("alter system set wal_writer_delay = '10s'")
      await cluster.storage.query("select pg_reload_conf()")
      const { server, webhook, leader } = await cluster.single({ timeout_seconds: 3, max_concurrent: 1 })
      leader.handle = "never"
      await cluster.callers.trigger(server, webhook)
      const isSent = async () => (await cluster.storage.rows())[0]?.sent_at != null
      await until("it is marked as sent", isSent, undefined, 1)
      await own.postgres.crash()
      await own.postgres.start()
      const rows = await cluster.storage.ended(1, 30_000)
      expect(rows.map(({ status }) => status)).toEqual(["timeout"])
    }
  )

  faultTest(
    "row 12: has its runs locked: triggers are refused in bounded time, other requests are served",
    async ({ cluster }) => {
      const { server, webhook } = await cluster.single()
      const client = new pg.Client({ connectionString: cluster.storage.databaseUrl })
      await client.connect()
      cluster.storage.onClose(() => client.end())
      await client.query("begin; lock table webhook_trigger.runs in access exclusive mode")
      const calls = Array.from({ length: 100 }, (_, n) =>
        cluster.callers.trigger(server, webhook, { wait: n % 2 === 0 })
      )
      const blocked =
        "select count(*)::int as count from pg_locks where relation = 'webhook_trigger.runs'::regclass and not granted"
      await until(
        "a statement waits for the lock",
        async () => Number((await cluster.storage.query(blocked))[0]?.count) > 0
      )
      await until("it is ready nevertheless", async () => (await server.health("ready")) === 200)
      for (const path of ["/api/keys", "/api/audit"]) await cluster.api(server, "GET", path, undefined, [200])
      await cluster.api(server, "GET", `/api/webhooks/${webhook.id}/runs`, undefined, [503])
      const other = await cluster.callers.trigger(server, { ...webhook, token: `whk_${"0".repeat(43)}` })
      expect(other.status).toBe(404)
      const answered = await Promise.all(calls)
      await client.query("rollback")
      expect(answered.filter(({ status }) => status !== 503)).toEqual([])
      expect(answered.filter((call) => latency(call) >= bound)).toEqual([])
      const next = await cluster.callers.trigger(server, webhook, { wait: true })
      expect(next.status).toBe(200)
      measured("row 12: the last refusal came after", Math.max(...answered.map(latency)))
      measured("row 12: the first answer after the lock took", latency(next))
      await cluster.checked({ limits: { global: 20 }, refusalsLeaveNothing: true })
    }
  )
})
