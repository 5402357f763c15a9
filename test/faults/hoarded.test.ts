/** A server that receives replies and cannot record them: what was answered in time must not lose to the clock. */
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, vi } from "vitest"
import type { Proxy } from "../support/Proxy.ts"
import { answerAfter } from "./support/Answers.ts"
import type { Row } from "./support/Checker.ts"
import type { Cluster } from "./support/Cluster.ts"
import { faultTest } from "./support/FaultTest.ts"
import type { TestServer } from "./support/TestServer.ts"

vi.setConfig({ testTimeout: 180_000 })

/** Milliseconds. */
const timeBroken = 15_000

/** Runs that timed out although their leader's answer was confirmed before that. */
const answeredInVain = (cluster: Cluster, rows: ReadonlyArray<Row>) => {
  const answeredAt = new Map<string, number>()
  for (const { acknowledgedAt, run_id } of cluster.deliveries) {
    if (acknowledgedAt !== undefined && !answeredAt.has(run_id)) answeredAt.set(run_id, acknowledgedAt)
  }
  return rows.filter(
    ({ finished_at, id, status }) =>
      status === "timeout" && performance.timeOrigin + (answeredAt.get(id) ?? Infinity) < finished_at!.getTime()
  )
}

type Change = (server: TestServer, database: Proxy) => void

const faults: ReadonlyArray<readonly [what: string, breakIt: Change, restore: Change]> = [
  ["is frozen", (server) => server.signal("SIGSTOP"), (server) => server.signal("SIGCONT")],
  ["is cut off from the database", (_, database) => database.silence("all"), (_, database) => database.pass()],
  ["is refused by the database", (_, database) => database.reset({ refuse: true }), (_, database) => database.pass()]
]

describe.concurrent("replies", () => {
  for (const [what, breakIt, restore] of faults) {
    faultTest(`row 29: to a server that ${what} are recorded by another, within 5 s`, async ({ cluster }) => {
      const database = await cluster.storage.proxy("database")
      const first = await cluster.server()
      const second = await cluster.server({ database })
      const teams = ["a", "b", "c", "d"]
      const webhooks = await Promise.all(teams.map((team) => cluster.webhook(first, { team, timeout_seconds: 5 })))
      for (const team of teams) await cluster.leader(team, { handle: answerAfter(20) })
      for (const team of teams) await cluster.running(first, team)
      const stop = cluster.callers.load([first], webhooks, { lanes: 3, waiters: 8, pauseMs: 100 })
      await cluster.leaders[0]!.deliveries(100)
      breakIt(second, database)
      await sleep(timeBroken)
      restore(second, database)
      const calls = await stop()
      const rows = await cluster.checked({ limits: { global: 20 } })
      expect(answeredInVain(cluster, rows)).toEqual([])
      expect(calls.filter(({ status }) => ![200, 202, 408].includes(status ?? 0))).toEqual([])
    })
  }
})
