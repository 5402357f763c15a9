/** What stays connected and does not respond: a frozen broker, half-open connections, a frozen server. Slow by nature. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect } from "vitest"
import type { Proxy } from "../../support/Proxy.ts"
import { randomFor } from "../../support/Random.ts"
import { until } from "../../support/Until.ts"
import { answerAfter } from "../support/Answers.ts"
import { latency } from "../support/Callers.ts"
import type { Cluster } from "../support/Cluster.ts"
import { faultTest, faultTestOn } from "../support/FaultTest.ts"
import { freezeServer } from "../support/FrozenServer.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"

let own: PrivateServices
beforeAll(async () => {
  own = await privateServices({ rabbitmq: true })
}, 180_000)
afterAll(() => own.close())
const faultTestOnOwnBroker = faultTestOn(() => own.services)

/** Milliseconds. */
const timeFrozen = 30_000
/**
 * Milliseconds within which a call that does not wait for its run has its answer. The server's own limits are a few seconds;
 * the rest is for a busy machine.
 */
const bound = 60_000

/** Leaders that take a few milliseconds for a prompt. */
const quickly = () => {
  const random = randomFor("work")
  return answerAfter(() => random.between(0, 8))
}

/** One server with one team, under load; `verify` ends the load and checks what has happened. */
const underLoad = async (cluster: Cluster, proxies: { readonly broker?: Proxy; readonly database?: Proxy } = {}) => {
  const { leader, server, webhook } = await cluster.single({}, proxies)
  leader.handle = quickly()
  const stop = cluster.callers.load([server], [webhook], { lanes: 4, pauseMs: 20 })
  const worked = (count: number, limit?: number) => {
    const before = cluster.deliveries.length
    return until(`${count} more deliveries`, () => cluster.deliveries.length > before + count, limit)
  }
  await worked(50)
  return {
    worked,
    verify: async (refusalsLeaveNothing: boolean) => {
      const calls = await stop()
      expect(calls.filter((call) => call.mode === "async" && latency(call) >= bound)).toEqual([])
      await cluster.checked({ limits: { global: 20 }, refusalsLeaveNothing, limit: 90_000 })
    }
  }
}

describe.concurrent("what stays connected and does not respond", () => {
  faultTestOnOwnBroker(
    "row 9: a broker frozen for 30 s: triggers are bounded, and every run ends",
    async ({ cluster }) => {
      const { verify, worked } = await underLoad(cluster)
      own.rabbitmq.pause()
      await sleep(timeFrozen)
      own.rabbitmq.resume()
      await worked(50, 60_000)
      await verify(true)
    }
  )

  for (const service of ["broker", "database"] as const) {
    faultTest(`row 10: connections to the ${service}: they are noticed and replaced`, async ({ cluster }) => {
      const proxy = await cluster.storage.proxy(service)
      const { verify, worked } = await underLoad(cluster, { [service]: proxy })
      const connections = proxy.connections
      proxy.silence("present")
      await worked(50, 60_000)
      expect(proxy.connections).toBeGreaterThan(connections)
      // When the connection breaks on a commit, the server cannot know whether it was done.
      await verify(service !== "database")
    })
  }

  faultTest(
    "row 21: the server that does the work of each second, for 30 s: limits and order hold",
    async ({ cluster }) => {
      const meanwhile = () => sleep(timeFrozen)
      await freezeServer(cluster, { teams: ["a", "b", "c"], handle: quickly(), deliveries: 100, meanwhile })
    }
  )
})
