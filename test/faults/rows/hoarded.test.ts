/** A server that receives replies and cannot record them: what was answered in time must not lose to the clock. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, describe, expect } from "vitest"
import type { Proxy } from "../../support/Proxy.ts"
import { FairClock } from "../../support/time/FairClock.ts"
import { answerAfter } from "../support/Answers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest } from "../support/FaultTest.ts"
import type { TestServer } from "../support/TestServer.ts"

/** Milliseconds. */
const timeBroken = 10_000

/** Milliseconds after which the broker has taken replies back from a server, and another one has recorded them. */
const withinMs = 3_500

// It does not count the share of other work on the machine, which may delay an answer for as long as it likes.
const clock = new FairClock()
afterAll(() => clock.stop())
const answers = { withinMs, between: clock.between }

/** What breaks, and is whole again after `timeBroken`. */
interface Break {
  readonly what: string
  /** Breaks the one that does the work of each second, or another one. */
  readonly isTicking: boolean
  readonly inject: (server: TestServer, database: Proxy) => Promise<void>
}

const frozen: Break["inject"] = async (server) => {
  server.signal("SIGSTOP")
  await sleep(timeBroken)
  server.signal("SIGCONT")
}
const cutOff: Break["inject"] = async (_, database) => {
  database.silence("all")
  await sleep(timeBroken)
  database.pass()
}
const refused: Break["inject"] = async (_, database) => {
  database.reset({ refuse: true })
  await sleep(timeBroken)
  database.pass()
}
const flapping: Break["inject"] = async (_, database) => {
  for (let round = 0; round < 3; round++) {
    database.silence("all")
    await sleep(2_000)
    database.pass()
    await sleep(1_500)
  }
}

const breaks: ReadonlyArray<Break> = [
  { what: "a server that is frozen", isTicking: false, inject: frozen },
  { what: "a server that is cut off from the database", isTicking: false, inject: cutOff },
  { what: "a server that is refused by the database", isTicking: false, inject: refused },
  { what: "a server that is cut off from the database again and again", isTicking: false, inject: flapping },
  { what: "the server of the ticks while it is frozen", isTicking: true, inject: frozen },
  { what: "the server of the ticks while it is cut off from the database", isTicking: true, inject: cutOff }
]

/** Two servers, each with a proxy before the database, and callers with timeouts of 5 s. */
const underLoad = async (cluster: Cluster, load: (servers: ReadonlyArray<TestServer>) => ReadonlyArray<TestServer>) => {
  const databases = [await cluster.storage.proxy("database"), await cluster.storage.proxy("database")] as const
  const first = await cluster.server({ database: databases[0] })
  const servers = [first, await cluster.server({ database: databases[1] })] as const
  const teams = ["a", "b", "c", "d"]
  const webhooks = await Promise.all(teams.map((team) => cluster.webhook(first, { team, timeout_seconds: 5 })))
  for (const team of teams) await cluster.leader(team, { handle: answerAfter(20) })
  for (const server of servers) for (const team of teams) await cluster.running(server, team)
  const stop = cluster.callers.load(load(servers), webhooks, { lanes: 2, waiters: 4, pauseMs: 100 })
  await cluster.leaders[0]!.deliveries(100)
  return { servers, databases, stop }
}

describe("replies", () => {
  for (const { inject, isTicking, what } of breaks) {
    faultTest.concurrent(`row 29: to ${what} are recorded by another before the clock counts`, async ({ cluster }) => {
      const [broken, healthy] = isTicking ? [0, 1] : [1, 0]
      const { databases, servers, stop } = await underLoad(cluster, (servers) => [servers[healthy]!])
      await inject(servers[broken]!, databases[broken]!)
      const calls = await stop()
      await cluster.checked({ limits: { global: 20 }, answers })
      expect(calls.filter(({ status }) => ![200, 202, 408].includes(status ?? 0))).toEqual([])
    })
  }

  faultTest.concurrent(
    "row 29: that come while no server reaches the database are recorded later",
    async ({ cluster }) => {
      const { databases, stop } = await underLoad(cluster, (servers) => servers)
      for (const database of databases) database.reset({ refuse: true })
      await sleep(timeBroken)
      for (const database of databases) database.pass()
      const calls = await stop()
      await cluster.checked({ limits: { global: 20 }, answers })
      expect(calls.filter(({ status }) => ![200, 202, 408, 503].includes(status ?? 0))).toEqual([])
    }
  )
})
