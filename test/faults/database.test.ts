/** PostgreSQL goes away, comes back, or is locked: refusals are bounded, what was accepted ends, answers are kept. */
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, vi } from "vitest"
import { Gate } from "./support/Gate.ts"
import { answerTo } from "./support/RecordingLeader.ts"
import { privateServices, row, rowOn } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 180_000 })

let broken: Awaited<ReturnType<typeof privateServices>>
beforeAll(async () => {
  broken = await privateServices({ postgres: true })
}, 180_000)
afterAll(() => broken.close())
const rowOnBrokenDatabase = rowOn(() => broken.services)

describe("PostgreSQL", () => {
  rowOnBrokenDatabase("row 11: immediate restart under load: every 202 ends", async ({ stage }) => {
    const servers = [await stage.server(), await stage.server()]
    const teams = ["a", "b", "c"]
    const hooks = await Promise.all(
      teams.map((team) => stage.hook(servers[0]!, { team, ...(team === "a" && { max_concurrent: 2 }) }))
    )
    for (const team of teams) await stage.leader(team)
    for (const team of teams) for (const server of servers) await stage.running(server, team)
    const stop = stage.callers.load(servers, hooks, { lanes: 8 })
    for (const _ of [1, 2]) {
      const seen = stage.deliveries.length
      await until("work goes on", () => stage.deliveries.length > seen + 150, 30_000)
      await broken.postgres.crash()
      try {
        await until("the loss is noticed", () => stage.callers.calls.some(({ status }) => status === 503))
      } finally {
        await broken.postgres.start()
      }
    }
    const seen = stage.deliveries.length
    await until("work goes on", () => stage.deliveries.length > seen + 150, 30_000)
    const calls = await stop()
    expect(calls.filter(({ status }) => status === undefined || ![200, 202, 408, 503].includes(status))).toEqual([])
    expect(calls.filter(({ mode, asked_at, told_at }) => mode === "async" && !(told_at! - asked_at < 12_000))).toEqual(
      []
    )
    await stage.checked({ limits: { global: 20, webhooks: { [hooks[0]!.id]: 2 } }, settleMs: 90_000 })
  })

  row("row 12: a table locked 10 s: bounded 503, other requests are served", async ({ stage }) => {
    const { server, hook } = await stage.one()
    const client = new pg.Client({ connectionString: stage.databaseUrl })
    await client.connect()
    stage.atEnd(() => client.end())
    await client.query("begin; lock table webhook_trigger.runs in access exclusive mode")
    const locked = performance.now()
    const calls = Array.from({ length: 100 }, (_, n) => stage.callers.trigger(server, hook, { wait: n % 2 === 0 }))
    await sleep(2000)
    const asked = performance.now()
    await until("it is ready all the same", async () => (await server.health("ready")) === 200, 5000)
    await stage.manage(server, "GET", "/api/teams/deploy", undefined, [200, 503])
    const other = await stage.callers.trigger(server, { ...hook, token: `whk_${"0".repeat(43)}` })
    expect(other.status).toBe(404)
    expect(performance.now() - asked).toBeLessThan(12_000)
    await sleep(Math.max(0, 10_000 - (performance.now() - locked)))
    await client.query("rollback")
    const told = await Promise.all(calls)
    expect(told.filter(({ status }) => ![200, 202, 503].includes(status ?? 0))).toEqual([])
    expect(told.filter(({ asked_at, told_at }) => !(told_at! - asked_at < 12_000))).toEqual([])
    const after = performance.now()
    const next = await stage.callers.trigger(server, hook, { wait: true })
    expect(next.status).toBe(200)
    expect(performance.now() - after).toBeLessThan(5000)
    await stage.checked({ limits: { global: 20 }, refusalsLeaveNothing: true })
  })

  rowOnBrokenDatabase("row 13: down as replies arrive: recorded when it is back", async ({ stage }) => {
    const server = await stage.server()
    const gate = new Gate()
    const teams = ["a", "b", "c", "d", "e"]
    const hooks = await Promise.all(teams.map((team) => stage.hook(server, { team })))
    for (const team of teams) {
      await stage.leader(team, {
        handle: async ({ prompt }) => {
          await gate.opened
          return answerTo(prompt)
        }
      })
    }
    for (const team of teams) await stage.running(server, team)
    const waiting = hooks.map((hook) => stage.callers.trigger(server, hook, { wait: true }))
    const calls = await stage.callers.sequence(server, [...hooks, ...hooks])
    expect(calls.map(({ status }) => status)).toEqual(calls.map(() => 202))
    await until("every team works", () => stage.deliveries.length === 5)
    await broken.postgres.kill()
    gate.open()
    await until(
      "the broker has taken answers",
      () => stage.deliveries.filter(({ done_at }) => done_at !== undefined).length >= 5
    )
    await sleep(3000)
    await broken.postgres.start()
    const rows = await stage.checked({ count: 15, limits: { global: 20 }, settleMs: 90_000 })
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(teams.map(() => 200))
  })
})
