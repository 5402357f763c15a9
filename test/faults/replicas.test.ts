/** Several servers on one database and one broker: they share the work, and take over from each other. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, vi } from "vitest"
import { Stopwatch } from "../support/Stopwatch.ts"
import type { Hook } from "./support/Callers.ts"
import { Gate } from "./support/Gate.ts"
import { answerTo } from "./support/RecordingLeader.ts"
import type { Replica } from "./support/Replica.ts"
import { row, type Stage } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 180_000 })

const dispatches = (server: Replica) => readFileSync(server.log, "utf8").split("sends the prompts now").length - 1

/** Two replicas, the first of which dispatches, one team and one webhook. */
const two = async (stage: Stage) => {
  const { server: first, hook, leader } = await stage.one()
  await until("the first dispatches", () => dispatches(first) === 1)
  const second = await stage.server()
  return { first, second, hook, leader }
}

describe("replicas", () => {
  row("a caller who waits at one gets the answer that another took from the broker", async ({ stage }) => {
    const { first, second, hook } = await two(stage)
    const calls = await Promise.all(
      Array.from({ length: 60 }, (_, n) => stage.callers.trigger(n % 2 ? first : second, hook, { wait: true }))
    )
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
    const rows = await stage.checked({ limits: { global: 20 } })
    const ended = new Map(rows.map(({ id, finished_at }) => [id, finished_at!.getTime()]))
    const late = calls.map(({ body, told_at }) => performance.timeOrigin + told_at! - ended.get(body.run_id)!)
    expect(Math.max(...late)).toBeLessThan(5000)
  })

  row("the dispatcher is killed: another takes over within 10 s", async ({ stage }) => {
    const { first, second, hook } = await two(stage)
    await first.kill()
    const watch = new Stopwatch()
    const call = await stage.callers.trigger(second, hook, { wait: true })
    expect(watch.stop()).toBeLessThan(10_000)
    expect(call.status).toBe(200)
    await stage.checked({})
  })

  row("the dispatcher stops cleanly: another takes over at once", async ({ stage }) => {
    const { first, second, hook } = await two(stage)
    await first.stop()
    const watch = new Stopwatch()
    const call = await stage.callers.trigger(second, hook, { wait: true })
    expect(watch.stop()).toBeLessThan(2000)
    expect(call.status).toBe(200)
    await stage.checked({})
  })

  row("row 23: a change of a webhook or token holds for the next trigger on the other", async ({ stage }) => {
    const { first, second, hook } = await two(stage)
    const status = async (server: Replica, hook: Hook) => (await stage.callers.trigger(server, hook)).status
    for (let round = 0; round < 20; round++) {
      const [here, there] = round % 2 ? [first, second] : [second, first]
      const made = await stage.hook(here, { team: hook.team })
      expect(await status(there, made)).toBe(202)

      await stage.manage(here, "PATCH", `/api/webhooks/${made.id}`, { enabled: false })
      expect(await status(there, made)).toBe(404)
      await stage.manage(here, "PATCH", `/api/webhooks/${made.id}`, { enabled: true })
      expect(await status(there, made)).toBe(202)

      await stage.manage(here, "PATCH", `/api/webhooks/${made.id}`, { prompt_template: "edited" })
      const edited = await stage.callers.trigger(there, made, { wait: true, nonce: "edited" })
      expect(edited.body).toMatchObject({ response: answerTo("edited") })
      stage.callers.calls.splice(stage.callers.calls.indexOf(edited), 1)
      await stage.manage(here, "PATCH", `/api/webhooks/${made.id}`, { prompt_template: "{{nonce}}" })

      const { token } = await stage.manage(here, "POST", `/api/webhooks/${made.id}/token`)
      expect(await status(there, made)).toBe(404)
      expect(await status(there, { ...made, token })).toBe(202)

      await stage.manage(here, "DELETE", `/api/webhooks/${made.id}`)
      expect(await status(there, { ...made, token })).toBe(404)
    }
    // Deleting a webhook has deleted its runs: nothing is left to be checked but that the lane is free.
    expect((await stage.callers.trigger(second, hook, { wait: true })).status).toBe(200)
    expect(await stage.rows()).toHaveLength(1)
  })

  row("row 23: a webhook is edited and deleted while a caller waits at the other", async ({ stage }) => {
    const { first, second, hook, leader } = await two(stage)
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    const made = await stage.hook(first, { team: hook.team, timeout_seconds: 30 })
    const kept = stage.callers.trigger(second, hook, { wait: true })
    await leader.deliveries(1)
    const doomed = stage.callers.trigger(second, made, { wait: true })
    await until("both are accepted", async () => (await stage.rows()).length === 2)
    await stage.manage(first, "PATCH", `/api/webhooks/${hook.id}`, { prompt_template: "later", timeout_seconds: 1 })
    await stage.manage(first, "DELETE", `/api/webhooks/${made.id}`)
    expect((await doomed).status).toBe(404)
    gate.open()
    // What was accepted before the edit keeps its prompt and its timeout.
    expect(await kept).toMatchObject({ status: 200, body: { response: answerTo((await kept).nonce) } })
    await stage.checked({ count: 1 })
  })

  row("row 25: started at once on an empty database: all come up, and work", async ({ stage }) => {
    const servers = await Promise.all([1, 2, 3].map(() => stage.server({ started: false })))
    await Promise.all(servers.map((server) => server.start()))
    const hook = await stage.hook(servers[0]!, { team: "deploy" })
    await stage.leader("deploy")
    for (const server of servers) await stage.running(server, "deploy")
    const calls = await Promise.all(servers.map((server) => stage.callers.trigger(server, hook, { wait: true })))
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(servers.map(dispatches).reduce((a, b) => a + b)).toBe(1)
    await stage.checked({ count: 3 })
  })
})

describe("a graceful stop", () => {
  row("those who wait get their answers, new triggers a 503, and it is not ready", async ({ stage }) => {
    const { server, hook, leader } = await stage.one({}, { env: { SHUTDOWN_GRACE: "30" } })
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    const waiting = [1, 2, 3].map(() => stage.callers.trigger(server, hook, { wait: true }))
    await until("three wait", async () => (await stage.rows()).length === 3)
    server.signal("SIGTERM")
    await until("it is not ready", async () => (await server.health("ready")) === 503)
    const refused = await stage.callers.trigger(server, hook)
    expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } })
    expect(refused.retry_after).toBeDefined()
    gate.open()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200])
    await server.exited()
    await stage.checked({ count: 3, refusalsLeaveNothing: true })
  })

  row("at the end of the grace: 503 with the run's id, and it ends after the restart", async ({ stage }) => {
    const { server, hook, leader } = await stage.one({}, { env: { SHUTDOWN_GRACE: "1" } })
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    const waiting = [1, 2, 3].map(() => stage.callers.trigger(server, hook, { wait: true }))
    await until("three wait", async () => (await stage.rows()).length === 3)
    await server.stop()
    const calls = await Promise.all(waiting)
    expect(calls.map(({ status }) => status)).toEqual([503, 503, 503])
    expect(new Set(calls.map(({ body }) => body.run_id))).toEqual(new Set((await stage.rows()).map(({ id }) => id)))
    gate.open()
    await server.start()
    const rows = await stage.checked({ count: 3 })
    expect(rows.map(({ status }) => status)).toEqual(["success", "success", "success"])
  })

  row("a second signal ends it at once", async ({ stage }) => {
    const { server, hook, leader } = await stage.one({}, { env: { SHUTDOWN_GRACE: "60" } })
    leader.handle = "never"
    const waiting = stage.callers.trigger(server, hook, { wait: true })
    await leader.deliveries(1)
    server.signal("SIGTERM")
    await until("it is not ready", async () => (await server.health("ready")) === 503)
    server.signal("SIGTERM")
    await server.exited()
    expect((await waiting).status).toBeUndefined()
  })
})

describe("Idempotency-Key", () => {
  row("100 repeats at once on three replicas, and one later: one run, one answer", async ({ stage }) => {
    const { first, second, hook, leader } = await two(stage)
    const third = await stage.server()
    const servers = [first, second, third]
    leader.handle = async ({ prompt }) => {
      await sleep(500)
      return answerTo(prompt)
    }
    const options = { wait: true, nonce: "the-same", key: "k-1" }
    const calls = await Promise.all(
      Array.from({ length: 100 }, (_, n) => stage.callers.trigger(servers[n % 3]!, hook, options))
    )
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 200))
    const later = await stage.callers.trigger(second, hook, options)
    expect(later.status).toBe(200)
    expect(new Set([...calls, later].map(({ body }) => body.run_id)).size).toBe(1)
    const other = await stage.callers.trigger(third, hook, { ...options, nonce: "another" })
    expect(other).toMatchObject({ status: 422 })
    await stage.checked({ count: 1 })
    expect(stage.deliveries).toHaveLength(1)
  })

  row("a repeat after the server was killed returns the run that was accepted", async ({ stage }) => {
    const { first, second, hook } = await two(stage)
    await second.arm("accepted", "kill")
    const options = { nonce: "the-same", key: "k-2" }
    const lost = await stage.callers.trigger(second, hook, options)
    expect(lost.status).toBeUndefined()
    const again = await stage.callers.trigger(first, hook, options)
    expect(again.status).toBe(202)
    await stage.checked({ count: 1 })
    expect(stage.deliveries).toHaveLength(1)
  })
})

describe("backpressure", () => {
  row("WEBHOOK_MAX_QUEUED: 429 leaves nothing behind, and 202 when there is room", async ({ stage }) => {
    const { server, hook, leader } = await stage.one(
      {},
      { env: { WEBHOOK_MAX_QUEUED: "10", WEBHOOK_MAX_CONCURRENT: "2" } }
    )
    const gate = new Gate()
    leader.handle = async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    }
    const calls = await stage.callers.sequence(
      server,
      Array.from({ length: 40 }, () => hook)
    )
    const refused = calls.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(25)
    expect(refused.filter(({ retry_after, body }) => !retry_after || body.code !== "too_many_queued")).toEqual([])
    gate.open()
    await stage.settled()
    expect((await stage.callers.trigger(server, hook)).status).toBe(202)
    await stage.checked({ refusalsLeaveNothing: true, limits: { global: 2 } })
  })
})
