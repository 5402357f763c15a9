/** What does not end but says nothing more: a frozen broker, half-open connections, a frozen dispatcher. Slow by nature. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, vi } from "vitest"
import { answerTo } from "./support/RecordingLeader.ts"
import { privateServices, row, rowOn } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 240_000 })

let broken: Awaited<ReturnType<typeof privateServices>>
beforeAll(async () => {
  broken = await privateServices({ rabbitmq: true })
}, 180_000)
afterAll(() => broken.close())
const rowOnBrokenBroker = rowOn(() => broken.services)

const freeze = 30_000
const quickly = async ({ prompt }: { readonly prompt: string }) => {
  await sleep(Math.random() * 8)
  return answerTo(prompt)
}

describe.concurrent("what says nothing more", () => {
  rowOnBrokenBroker("row 9: broker SIGSTOP 30 s: every 202 ends", async ({ stage, expect }) => {
    const { server, hook, leader } = await stage.one()
    leader.handle = quickly
    const stop = stage.callers.load([server], [hook], { lanes: 4, pauseMs: 20 })
    await until("work is going on", () => stage.deliveries.length > 50)
    broken.rabbitmq.pause()
    await sleep(freeze)
    broken.rabbitmq.resume()
    const before = stage.deliveries.length
    await until("work goes on", () => stage.deliveries.length > before + 50, 60_000)
    const calls = await stop()
    const hung = calls.filter(({ mode, told_at, asked_at }) => mode === "async" && !(told_at! - asked_at < 15_000))
    expect(hung).toEqual([])
    await stage.checked({ limits: { global: 20 }, refusalsLeaveNothing: true, settleMs: 90_000 })
  })

  row("row 10: half-open TCP to the broker: noticed, and connected anew", async ({ stage, expect }) => {
    const proxy = await stage.proxy("broker")
    const { server, hook, leader } = await stage.one({}, { broker: proxy })
    leader.handle = quickly
    const stop = stage.callers.load([server], [hook], { lanes: 4, pauseMs: 20 })
    await until("work is going on", () => stage.deliveries.length > 50)
    const connections = proxy.connections
    proxy.silence("present")
    const before = stage.deliveries.length
    await until("work goes on", () => stage.deliveries.length > before + 50, 60_000)
    expect(proxy.connections).toBeGreaterThan(connections)
    const calls = await stop()
    expect(calls.filter(({ mode, told_at, asked_at }) => mode === "async" && !(told_at! - asked_at < 15_000))).toEqual(
      []
    )
    await stage.checked({ limits: { global: 20 }, refusalsLeaveNothing: true, settleMs: 90_000 })
  })

  row("row 10: half-open TCP to the database: noticed, and connected anew", async ({ stage, expect }) => {
    const proxy = await stage.proxy("database")
    const { server, hook, leader } = await stage.one({}, { database: proxy })
    leader.handle = quickly
    const stop = stage.callers.load([server], [hook], { lanes: 4, pauseMs: 20 })
    await until("work is going on", () => stage.deliveries.length > 50)
    const connections = proxy.connections
    proxy.silence("present")
    const before = stage.deliveries.length
    await until("work goes on", () => stage.deliveries.length > before + 50, 60_000)
    expect(proxy.connections).toBeGreaterThan(connections)
    const calls = await stop()
    expect(calls.filter(({ mode, told_at, asked_at }) => mode === "async" && !(told_at! - asked_at < 15_000))).toEqual(
      []
    )
    await stage.checked({ limits: { global: 20 }, settleMs: 90_000 })
  })

  row("row 21: the dispatcher's replica SIGSTOP 30 s: limits and order hold", async ({ stage, expect }) => {
    const env = { WEBHOOK_TIMEOUT: "300" }
    const first = await stage.server({ env })
    await until("the first dispatches", () => first.tail().includes("sends the prompts now"))
    const second = await stage.server({ env })
    const teams = ["a", "b", "c"]
    const hooks = await Promise.all(
      teams.map((team) => stage.hook(first, { team, ...(team === "a" && { max_concurrent: 2 }) }))
    )
    for (const team of teams) await stage.leader(team, { handle: quickly })
    for (const team of teams) await stage.running(second, team)
    const stop = stage.callers.load([second], hooks, { lanes: 6, pauseMs: 20 })
    await until("work is going on", () => stage.deliveries.length > 100)
    expect(second.tail()).not.toContain("sends the prompts now")
    first.signal("SIGSTOP")
    await sleep(freeze)
    const before = stage.deliveries.length
    expect(second.tail(1_000_000)).toContain("sends the prompts now")
    first.signal("SIGCONT")
    await until("work goes on", () => stage.deliveries.length > before + 100, 30_000)
    await until("the old dispatcher knows", () =>
      first.tail(1_000_000).includes("Another process sends the prompts now")
    )
    const calls = await stop()
    expect(calls.filter(({ status }) => status !== 202 && status !== 200)).toEqual([])
    const rows = await stage.checked({ limits: { global: 20, webhooks: { [hooks[0]!.id]: 2 } }, settleMs: 90_000 })
    expect(rows.filter(({ status }) => status !== "success")).toEqual([])
  })
})
