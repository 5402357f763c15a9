/** Leaders over HTTP: servers and leaders are killed, and connections cut, at every step of their work. */
import { describe, expect } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { Proxy } from "../../support/Proxy.ts"
import { until } from "../../support/Until.ts"
import { answerAfter, answerWhenOpen } from "../support/Answers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { HttpLeader } from "../support/HttpLeader.ts"
import type { TestServer } from "../support/TestServer.ts"

/** Servers, and a team that has no leader yet. */
const servers = async (cluster: Cluster, count: number) => {
  const servers = [await cluster.server()]
  while (servers.length < count) servers.push(await cluster.server())
  const webhook = await cluster.webhook(servers[0]!, { team: "deploy", when_team_stopped: "queue" })
  return { servers, webhook }
}

describe.concurrent("leaders over HTTP", () => {
  faultTest(
    "row 36: each of two servers is killed while the leader waits, works and replies, and nothing is worked on twice",
    async ({ cluster }) => {
      const { servers: both, webhook } = await servers(cluster, 2)
      const leader = await HttpLeader.start(cluster, both, webhook.team)
      let sent = 0
      for (const [index, killed] of both.entries()) {
        const other = both[1 - index]!
        const trigger = async () => {
          const call = await cluster.callers.trigger(other, webhook)
          expect(call.status).toBe(202)
          sent++
        }
        const again = async () => {
          await cluster.storage.ended(sent)
          leader.servers = both
          await killed.start()
          await cluster.running(killed, webhook.team)
        }
        const gate = new Gate()
        leader.handle = answerWhenOpen(gate)

        // While it works on one prompt, and another one waits.
        await trigger()
        await trigger()
        await leader.deliveries(sent - 1)
        await killed.kill()
        gate.open()
        await again()

        // As the end is committed, and the reply not confirmed.
        await killed.at("ended", "kill")
        leader.servers = [killed]
        await trigger()
        await killed.exited()
        leader.servers = both
        await again()

        // As it waits there for a prompt.
        leader.servers = [killed]
        await trigger()
        await cluster.storage.ended(sent)
        leader.servers = both
        await killed.kill()
        await trigger()
        await again()
      }
      const rows = await cluster.checked({ count: sent, overlaps: leader.overlaps })
      expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
    }
  )

  faultTest(
    "row 37a: its prompt is on the way when the leader or the server is killed, and is worked on once",
    async ({ cluster }) => {
      const { servers: both, webhook } = await servers(cluster, 2)
      const [one, two] = both as [TestServer, TestServer]
      const proxies = await Promise.all([Proxy.of(one.url), Proxy.of(two.url)])
      for (const proxy of proxies) cluster.storage.onClose(() => proxy.close())
      const [toOne, toTwo] = proxies as [Proxy, Proxy]
      const through = ({ port }: Proxy) => [{ url: `http://127.0.0.1:${port}` }]
      const leader = await HttpLeader.start(cluster, through(toOne), webhook.team, "first")
      /** Resolves once a server has given the prompt to the leader, which does not get it. */
      const offered = async (proxy: Proxy) => {
        const before = cluster.deliveries.length
        // If the proxy held back the answer to its last reply, it would repeat that again and again, and never ask.
        await until("the leader knows that its reply is stored", () =>
          cluster.deliveries.every(({ acknowledgedAt }) => acknowledgedAt !== undefined)
        )
        proxy.hold("received")
        // It asks anew. If the proxy held back "no prompt yet" from just before, it would not ask for half a minute.
        proxy.reset()
        expect((await cluster.callers.trigger(two, webhook)).status).toBe(202)
        const given =
          "select 1 from webhook_trigger.http_leaders h join webhook_trigger.runs r on r.id = h.run_id where h.taken and r.finished_at is null"
        await until("the prompt was given", async () => (await cluster.storage.query(given)).length > 0, 60_000)
        expect(cluster.deliveries).toHaveLength(before)
      }

      await offered(toOne)
      leader.servers = through(toTwo)
      await one.kill()
      toOne.reset()
      await leader.deliveries(1)
      await cluster.storage.ended(1)

      await offered(toTwo)
      const standby = await HttpLeader.start(cluster, [two], webhook.team, "standby")
      await leader.crash()
      await standby.deliveries(2)
      const overlaps = [...leader.overlaps, ...standby.overlaps]
      const rows = await cluster.checked({ count: 2, overlaps })
      expect(rows.map(({ status }) => status)).toEqual(["success", "success"])
      expect(cluster.deliveries.map(({ leader, run_id }) => [leader, run_id])).toEqual(
        rows.map(({ id }, n) => [["first", "standby"][n], id])
      )
    }
  )

  faultTest("row 38: behind a proxy that cuts all connections every 5 s, nothing is lost", async ({ cluster }) => {
    const { servers: one, webhook } = await servers(cluster, 1)
    const proxy = await Proxy.of(one[0]!.url)
    cluster.storage.onClose(() => proxy.close())
    const leader = await HttpLeader.start(cluster, [{ url: `http://127.0.0.1:${proxy.port}` }], webhook.team)
    let n = 0
    leader.handle = (delivery) => answerAfter(n++ % 5 === 0 ? 6_000 : 300)(delivery)
    let cuts = 0
    const cutting = setInterval(() => {
      if (cuts++ % 2 === 0) proxy.cut()
      else proxy.reset()
    }, 5_000)
    cluster.storage.onClose(async () => clearInterval(cutting))
    const stop = cluster.callers.load(one, [webhook], { lanes: 1, waiters: 0, pauseMs: 1_500 })
    await until("ten cuts", () => cuts >= 10, 90_000)
    const calls = await stop()
    const rows = await cluster.checked({ count: calls.length, overlaps: leader.overlaps, limit: 120_000 })
    expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "success"))
  })
})
