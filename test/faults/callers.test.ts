/** Callers in great numbers, and at the very moment of the timeout. */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, vi } from "vitest"
import { Gate } from "./support/Gate.ts"
import { leadMany } from "./support/ManyTeams.ts"
import { answerTo } from "./support/RecordingLeader.ts"
import type { Replica } from "./support/Replica.ts"
import { row, type Stage } from "./support/Stage.ts"
import { until } from "./support/Until.ts"

vi.setConfig({ testTimeout: 600_000 })

const names = (count: number) => Array.from({ length: count }, (_, n) => `team-${n}`)

const hooksOf = async (stage: Stage, server: Replica, teams: ReadonlyArray<string>, timeout_seconds: number) => {
  const hooks = []
  for (const team of teams) hooks.push(await stage.hook(server, { team, timeout_seconds }))
  for (const team of teams) await stage.running(server, team)
  return hooks
}

/** Resident memory, in KiB. */
const memory = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1])

describe("callers", () => {
  row("row 18: 1,000 replies within ±5 ms of the 408: HTTP and history agree", async ({ stage }) => {
    const server = await stage.server({ env: { WEBHOOK_MAX_CONCURRENT: "1000" } })
    const teams = names(100)
    /** How many milliseconds a reply takes from here to the row, as far as the outcomes tell. */
    let way = 2.5
    const leading = await leadMany(stage.amqpUrl, teams, async ({ prompt, deadline }) => {
      await sleep(Date.parse(deadline!) - Date.now() - way + (Math.random() - 0.5) * 10)
      return answerTo(prompt)
    })
    stage.atEnd(leading.close)
    const hooks = await hooksOf(stage, server, teams, 1)
    for (let round = 0; round < 10; round++) {
      // Spread over half a second: a hundred at the same moment would come one after the other, and too late.
      await Promise.all(
        hooks.map(async (hook, n) => {
          await sleep(n * 5)
          const { status } = await stage.callers.trigger(server, hook, { wait: true })
          way += status === 408 ? 0.5 : -0.5
        })
      )
    }
    const statuses = stage.callers.calls.map(({ status }) => status)
    const answered = statuses.filter((status) => status === 200).length
    const late = statuses.filter((status) => status === 408).length
    console.log(`row 18: ${answered} were answered, ${late} were told 408`)
    expect(answered + late).toBe(1000)
    expect(Math.min(answered, late)).toBeGreaterThan(50)
    await stage.checked({ count: 1000 })
  })

  row("row 20: 10,000 callers wait at once: each gets its own answer", async ({ stage }) => {
    const server = await stage.server({
      env: {
        WEBHOOK_MAX_CONCURRENT: "10000",
        WEBHOOK_MAX_QUEUED: "20000",
        // Node takes what it can get before it collects garbage: 96 to 162 KiB a caller were measured, 84 of them in use.
        NODE_OPTIONS: "--max-old-space-size=1792"
      }
    })
    const count = 10_000
    const gate = new Gate()
    const teams = names(50)
    const leading = await leadMany(stage.amqpUrl, teams, async ({ prompt }) => {
      await gate.opened
      return answerTo(prompt)
    })
    stage.atEnd(leading.close)
    const hooks = await hooksOf(stage, server, teams, 3600)
    const before = memory(server.pid)
    const begun = performance.now()
    const calls: Array<ReturnType<typeof stage.callers.trigger>> = []
    const accepted = async (least: number) => {
      const [{ all } = {}] = await stage.query("select count(*)::int as all from webhook_trigger.runs")
      return (all as number) >= least
    }
    // In waves, as the listening socket's backlog takes them.
    for (let n = 0; n < count; n += 500) {
      const wave = Array.from({ length: 500 }, (_, i) => hooks[(n + i) % hooks.length]!)
      calls.push(...wave.map((hook) => stage.callers.trigger(server, hook, { wait: true })))
      await until("most of the waves are accepted", () => accepted(n - 1000), 120_000, 200)
    }
    await until("all are accepted", () => accepted(count), 120_000, 200)
    const waiting = performance.now()
    const during = memory(server.pid)
    gate.open()
    await Promise.all(calls)
    const told = performance.now()
    console.log(
      `row 20: accepted in ${Math.round(waiting - begun)} ms, answered in ${Math.round(told - waiting)} ms, ` +
        `${((during - before) / count).toFixed(1)} KiB of server memory a waiting caller`
    )
    expect(stage.callers.calls.filter(({ status }) => status !== 200)).toEqual([])
    expect(during - before).toBeLessThan(count * 200)
    await stage.checked({ count, limits: { global: count } })
  })
})
