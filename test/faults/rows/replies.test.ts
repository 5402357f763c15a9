/** Replies that no one expects. */
import { connect } from "amqplib"
import { describe, expect } from "vitest"
import { until } from "../../support/Until.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import { reports } from "../support/Reports.ts"
import { declareTeamQueue } from "../support/TeamQueue.ts"

/** Sends messages as a leader would; resolves when the broker has them. */
const replier = async (cluster: Cluster) => {
  const model = await connect(cluster.storage.amqpUrl, { noDelay: true })
  cluster.storage.onClose(() => model.close())
  const channel = await model.createConfirmChannel()
  return {
    channel,
    reply: (
      correlationId: string | undefined,
      content: Buffer | string,
      type = "response",
      contentType = "application/json"
    ) =>
      channel.publish("webhook.replies", "", Buffer.from(content), {
        type,
        contentType,
        persistent: true,
        ...(correlationId === undefined ? {} : { correlationId })
      }),
    sent: () => channel.waitForConfirms()
  }
}

describe("replies", () => {
  faultTest(
    "row 17: that contradict each other, received by two servers: callers are told what is stored, which stays",
    async ({ cluster }) => {
      const servers = [await cluster.server(), await cluster.server()]
      const { channel, reply, sent } = await replier(cluster)
      const webhook = await cluster.webhook(servers[0]!, { team: "two-minds" })
      await declareTeamQueue(channel, "two-minds")
      await channel.prefetch(1)
      let isErrorFirst = false
      await channel.consume("team.two-minds", async (message) => {
        if (message === null) return
        isErrorFirst = !isErrorFirst
        const { correlationId } = message.properties
        // Of several replies that wait, the broker gives each server some.
        for (let i = 0; i < 4; i++) {
          if (isErrorFirst) reply(correlationId, JSON.stringify({ message: "no" }), "error")
          reply(correlationId, JSON.stringify({ response: "yes" }))
          if (!isErrorFirst) reply(correlationId, JSON.stringify({ message: "no" }), "error")
        }
        await sent()
        channel.ack(message)
      })
      for (const server of servers) await cluster.running(server, "two-minds")

      const calls = Array.from({ length: 40 }, (_, i) =>
        cluster.callers.trigger(servers[i % 2]!, webhook, { wait: true })
      )
      const told = await Promise.all(calls)
      await until("all replies are received", async () => (await cluster.storage.ready("webhook.replies.inbox")) === 0)
      for (const server of servers) await server.stop()
      const stored = new Map((await cluster.storage.rows()).map((row) => [row.id, [row.status, row.response]]))
      for (const { body, status } of told) {
        expect(stored.get(body.run_id)).toEqual(status === 200 ? ["success", "yes"] : ["error", null])
      }
    }
  )

  faultTest(
    "row 17: that are repeated, unknown, malformed, of 20 MB, or with a NUL, do no harm",
    async ({ cluster }) => {
      const server = await cluster.server()
      const { reply, sent } = await replier(cluster)
      /** A waiting caller, and the run as a leader that answers nothing by itself got it. */
      const waitingCaller = async (team: string) => {
        const webhook = await cluster.webhook(server, { team })
        await cluster.leader(team, { handle: "never" })
        await cluster.running(server, team)
        const call = cluster.callers.trigger(server, webhook, { wait: true })
        const delivery = await until("the prompt is delivered", () =>
          cluster.deliveries.find((one) => one.team === team)
        )
        return { call, run: delivery.run_id, id: delivery.correlation_id }
      }
      const unknown = "01900000-0000-7000-8000-000000000000"

      const one = await waitingCaller("one")
      for (const type of ["response", "error", "started", "nonsense", ""]) {
        reply(undefined, "{}", type)
        reply("not an id", "{}", type)
        reply(one.run, JSON.stringify({ response: "by the run's id", message: "by the run's id" }), type)
        reply(unknown, JSON.stringify({ response: "for no run", message: "for no run" }), type)
      }
      const malformed = ["", "{", "[]", "null", "{}", '{"response":1}', '{"Response":"x"}', "\0\0", Buffer.from([0xff])]
      for (const body of malformed) reply(one.id, body)
      reply(unknown, Buffer.alloc(20 * 1024 * 1024, "x"), "response", "text/plain")
      reply(one.id, Buffer.alloc(20 * 1024 * 1024, "{"))
      await sent()
      // The 20 MB that carry the prompt's id end the run; what is malformed does not.
      const ended = await one.call
      expect(ended.status).toBe(502)
      expect(ended.body.error).toMatchObject({ code: "answer_too_large" })

      const two = await waitingCaller("two")
      for (let i = 0; i < 50; i++) reply(two.id, JSON.stringify({ response: "once" }))
      await sent()
      expect(await two.call).toMatchObject({ status: 200, body: { response: "once", run_id: two.run } })
      for (let i = 0; i < 50; i++) reply(two.id, JSON.stringify({ response: "once" }))
      reply(two.id, JSON.stringify({ response: "twice" }))
      reply(two.id, JSON.stringify({ message: "too late" }), "error")
      await sent()
      const taken = async () => (await reports(server, "response")) + (await reports(server, "ended"))
      // More than once, if the server was so slow that it gave some back.
      await until("all of them were taken", async () => (await taken()) >= 103)
      // Those that come after the answer are not read.
      expect(await reports(server, "ended")).toBeGreaterThanOrEqual(52)

      const three = await waitingCaller("three")
      reply(three.id, JSON.stringify({ response: "a\0b" }))
      await sent()
      expect(await three.call).toMatchObject({ status: 200, body: { response: "a\ufffdb" } })

      // What is not acknowledged returns to the queue when its consumer is gone.
      await server.stop()
      expect(await cluster.storage.ready("webhook.replies.inbox")).toBe(0)
      expect((await cluster.storage.rows()).map(({ status, response }) => [status, response])).toEqual([
        ["error", "{".repeat(65_536)],
        ["success", "once"],
        ["success", "a\ufffdb"]
      ])
    }
  )
})
