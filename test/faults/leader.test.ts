/** Leaders crash, hang, come in pairs, and send what nobody asked for. */
import { once } from "node:events"
import { connect } from "amqplib"
import { describe, expect, vi } from "vitest"
import { Gate } from "./support/Gate.ts"
import { answerTo } from "./support/RecordingLeader.ts"
import { row, type Stage } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 180_000 })

/** Sends messages as a leader would; resolves when the broker has them. */
const replying = async (stage: Stage) => {
  const model = await connect(stage.amqpUrl, { noDelay: true })
  stage.atEnd(() => model.close())
  const channel = await model.createConfirmChannel()
  return {
    channel,
    reply: (
      correlationId: string | undefined,
      content: Buffer | string,
      type = "response",
      contentType = "application/json"
    ) =>
      channel.sendToQueue("webhook.replies", Buffer.from(content), {
        type,
        contentType,
        persistent: true,
        ...(correlationId === undefined ? {} : { correlationId })
      }),
    sent: () => channel.waitForConfirms()
  }
}

describe("leaders", () => {
  row("row 14: killed in its work three times: the same prompt first, the order kept", async ({ stage }) => {
    const { server, hook, leader } = await stage.one()
    let deaths = 0
    const died = () => new Promise<string>(() => {})
    leader.handle = ({ prompt }) => (deaths < 3 ? died() : answerTo(prompt))
    const calls = await stage.callers.sequence(server, [hook, hook, hook, hook])
    while (deaths < 3) {
      await leader.deliveries(deaths + 1)
      await leader.crash()
      deaths++
      await leader.start()
    }
    await stage.checked({ count: 4, executions: "at least once" })
    const [a, b, c, d] = calls.map(({ nonce }) => nonce)
    expect(stage.deliveries.map(({ prompt }) => prompt)).toEqual([a, a, a, a, b, c, d])
    expect(stage.deliveries.map(({ redelivered }) => redelivered)).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
      false
    ])
  })

  row("row 15: two leaders on one team: never two tasks at once", async ({ stage }) => {
    const { server, hook, leader } = await stage.one()
    // What they have answered lies in a store that both read.
    const answers = new Map<string, Promise<string>>()
    await leader.stop()
    const slowly = ({ prompt }: { readonly prompt: string }) =>
      new Promise<string>((resolve) => setTimeout(() => resolve(answerTo(prompt)), 20))
    const first = await stage.leader(hook.team, { name: "first", answers, handle: slowly })
    await stage.leader(hook.team, { name: "second", answers, handle: slowly })
    await stage.running(server, hook.team)
    const calls = await stage.callers.sequence(
      server,
      Array.from({ length: 40 }, () => hook)
    )
    await first.deliveries(10)
    await first.crash()
    await stage.checked({ count: 40, executions: "at least once" })
    expect([...new Set(stage.deliveries.map(({ leader }) => leader))]).toEqual(["first", "second"])
    const order = [...new Set(stage.deliveries.map(({ prompt }) => prompt))]
    expect(order).toEqual(calls.map(({ nonce }) => nonce))
  })

  row("row 16: never answers: runs time out, and slots come back", async ({ stage }) => {
    const { server, hook, leader } = await stage.one({ timeout_seconds: 1, max_concurrent: 2 })
    leader.handle = "never"
    const other = await stage.hook(server, { team: "other" })
    await stage.leader("other")
    await stage.running(server, "other")
    const waited = await stage.callers.trigger(server, hook, { wait: true })
    expect(waited.status).toBe(408)
    const calls = await stage.callers.sequence(server, [hook, hook, hook, hook])
    const meanwhile = await stage.callers.trigger(server, other, { wait: true })
    expect(meanwhile.status).toBe(200)
    const rows = await stage.settled(6, 20_000)
    expect(rows.filter(({ status }) => status === "timeout").map(({ prompt }) => prompt)).toEqual(
      [waited, ...calls].map(({ nonce }) => nonce)
    )

    await leader.crash()
    const late = await stage.leader(hook.team)
    await stage.running(server, hook.team)
    await stage.manage(server, "PATCH", `/api/webhooks/${hook.id}`, { timeout_seconds: 30 })
    const answered = await stage.callers.trigger(server, hook, { wait: true })
    expect(answered.status).toBe(200)
    await late.stop()
    await stage.checked({ count: 7, limits: { global: 20, webhooks: { [hook.id]: 2 } }, executions: "at least once" })
  })

  row("row 17: the same reply 100 times, unknown ids, malformed, 20 MB, NUL: no harm", async ({ stage }) => {
    const server = await stage.server()
    const { reply, sent } = await replying(stage)
    /** A waiting caller, and the run as a leader that answers nothing by itself got it. */
    const asking = async (team: string) => {
      const hook = await stage.hook(server, { team })
      await stage.leader(team, { handle: "never" })
      await stage.running(server, team)
      const told = stage.callers.trigger(server, hook, { wait: true })
      const delivery = await until("it is delivered", () => stage.deliveries.find((one) => one.team === team))
      return { told, id: delivery.run_id }
    }
    const nobody = "01900000-0000-7000-8000-000000000000"

    const one = await asking("one")
    for (const type of ["response", "error", "started", "nonsense", ""]) {
      reply(undefined, "{}", type)
      reply("not an id", "{}", type)
      reply(nobody, JSON.stringify({ response: "for nobody", message: "for nobody" }), type)
    }
    const malformed = ["", "{", "[]", "null", "{}", '{"response":1}', '{"Response":"x"}', "\0\0", Buffer.from([0xff])]
    for (const body of malformed) reply(one.id, body)
    reply(nobody, Buffer.alloc(20 * 1024 * 1024, "x"), "response", "text/plain")
    reply(one.id, Buffer.alloc(20 * 1024 * 1024, "{"))
    await sent()
    // The 20 MB that carry the run's id are its end; what is malformed is not.
    const ended = await one.told
    expect(ended.status).toBe(502)
    expect(ended.body.error).toMatchObject({ code: "agent_error" })

    const two = await asking("two")
    for (let i = 0; i < 100; i++) reply(two.id, JSON.stringify({ response: "once" }))
    reply(two.id, JSON.stringify({ response: "twice" }))
    reply(two.id, JSON.stringify({ message: "too late" }), "error")
    await sent()
    expect(await two.told).toMatchObject({ status: 200, body: { response: "once", run_id: two.id } })

    const three = await asking("three")
    reply(three.id, JSON.stringify({ response: "a\0b" }))
    await sent()
    expect(await three.told).toMatchObject({ status: 200, body: { response: "a\ufffdb" } })

    // What is not acknowledged would be back in the queue when its consumer is gone.
    await server.stop()
    expect(await stage.ready("webhook.replies")).toBe(0)
    expect((await stage.rows()).map(({ status, response }) => [status, response])).toEqual([
      ["error", null],
      ["success", "once"],
      ["success", "a\ufffdb"]
    ])
  })

  row("row 22: the team's queue deleted under load: every run ends, executed once", async ({ stage }) => {
    const { server, hook, leader } = await stage.one({}, { env: { WEBHOOK_MAX_CONCURRENT: "50" } })
    leader.handle = ({ prompt }) => new Promise((resolve) => setTimeout(() => resolve(answerTo(prompt)), 5))
    const stop = stage.callers.load([server], [hook], { lanes: 6, pauseMs: 5 })
    for (const seen of [50, 150, 250]) {
      await leader.deliveries(seen)
      const gone = await stage.broker("DELETE", `/api/queues/<vhost>/team.${hook.team}`)
      expect(gone.status).toBe(204)
    }
    await leader.deliveries(350)
    const calls = await stop()
    const rows = await stage.checked({ settleMs: 90_000, limits: { global: 50 } })
    expect(calls.filter(({ status }) => ![200, 202, 409].includes(status ?? 0))).toEqual([])
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  })

  row("row 22: the team's queue deleted and made anew: what was lost comes before what is new", async ({ stage }) => {
    const { server, hook, leader } = await stage.one()
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    const before = await stage.callers.sequence(server, [hook, hook, hook, hook])
    await until("all are sent", async () => (await stage.rows()).every(({ status }) => status === "running"))
    const again = once(leader, "consuming")
    await stage.broker("DELETE", `/api/queues/<vhost>/team.${hook.team}`)
    await again
    const after = await stage.callers.sequence(server, [hook, hook])
    gate.open()
    const rows = await stage.checked({ count: 6 })
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
    const order = [...new Set(stage.deliveries.map(({ prompt }) => prompt))]
    expect(order).toEqual([...before, ...after].map(({ nonce }) => nonce))
  })

  row("row 16: a slow leader's runs are not taken for dead while it works", async ({ stage }) => {
    const { server, hook, leader } = await stage.one({ timeout_seconds: 5 })
    leader.handle = ({ prompt }) => new Promise((resolve) => setTimeout(() => resolve(answerTo(prompt)), 800))
    await stage.callers.sequence(
      server,
      Array.from({ length: 8 }, () => hook)
    )
    const rows = await stage.checked({ count: 8 })
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  })
})
