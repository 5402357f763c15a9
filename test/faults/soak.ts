/**
 * `npm run soak -- <minutes> [seed]`: random faults of every kind, of servers, database, broker, leaders and network, under
 * load; then the same checker. Not part of `npm test`.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import type { Proxy } from "../support/Proxy.ts"
import { testSeed } from "../support/Random.ts"
import { Cluster } from "./support/Cluster.ts"
import { clusterUnderLoad, crashes, freezes } from "./support/ClusterUnderLoad.ts"
import { type Fault, freeze, injectFaults, restart } from "./support/Faults.ts"
import { type PrivateServices, privateServices } from "./support/Services.ts"
import { teamQueue } from "./support/TeamQueue.ts"

const minutes = Number(process.env.SOAK_MINUTES ?? 10)
/** How long a slow network stays slow, in milliseconds. */
const timeSlow = 5000

const ofServices = ({ postgres, rabbitmq }: PrivateServices): ReadonlyArray<Fault> => [
  restart("the broker is stopped", 5000, rabbitmq.stop, rabbitmq.start),
  restart("the broker is killed", 5000, rabbitmq.kill, rabbitmq.start),
  freeze("the broker is frozen", 20_000, rabbitmq.pause, rabbitmq.resume),
  restart("PostgreSQL crashes", 5000, postgres.crash, postgres.start),
  restart("PostgreSQL is stopped", 5000, postgres.stop, postgres.start),
  freeze("PostgreSQL is frozen", 20_000, postgres.pause, postgres.resume)
]

const ofTeams = (cluster: Cluster, teams: ReadonlyArray<string>): ReadonlyArray<Fault> => [
  {
    name: "a leader crashes",
    inject: async (random) => {
      const leader = random.pick(cluster.leaders)
      await restart(
        "a leader crashes",
        3000,
        () => leader.crash(),
        () => leader.start()
      ).inject(random)
    }
  },
  {
    name: "a team's queue is deleted",
    inject: (random) => cluster.storage.deleteQueue(teamQueue(random.pick(teams)))
  }
]

const ofNetwork = (name: string, proxy: Proxy): ReadonlyArray<Fault> => [
  { name: `the first server's ${name} connections are reset`, inject: async () => proxy.reset() },
  { name: `the first server's ${name} connections go silent`, inject: async () => proxy.silence("present") },
  {
    name: `the first server's ${name} is slow`,
    inject: async (random) => {
      proxy.delay(random.between(10, 300))
      await sleep(timeSlow)
      proxy.delay(0)
    }
  }
]

test(`every promise is kept through ${minutes} minutes of random faults`, {
  timeout: minutes * 60_000 + 600_000
}, async ({ onTestFailed, onTestFinished }) => {
  console.log(`soak: ${minutes} minutes with seed ${testSeed}; again: npm run soak -- ${minutes} ${testSeed}`)
  const own = await privateServices({ postgres: true, rabbitmq: true })
  onTestFinished(own.close)
  const cluster = await Cluster.create(own.services)
  onTestFinished(() => cluster.close())
  onTestFailed(() => console.error(cluster.lastOutput))
  const proxies = { broker: await cluster.storage.proxy("broker"), database: await cluster.storage.proxy("database") }
  const running = await clusterUnderLoad(cluster, proxies)
  const faults = [
    ...crashes(running),
    ...freezes(running),
    ...ofServices(own),
    ...ofTeams(cluster, running.teams),
    ...ofNetwork("broker", proxies.broker),
    ...ofNetwork("database", proxies.database)
  ]
  const log = await injectFaults(faults, { isEnough: ({ ms }) => ms >= minutes * 60_000, pauseMs: [500, 8000] })
  await running.stop()
  console.log(log.join("\n"))
  const rows = await cluster.checked({ limits: running.limits, limit: 180_000, executions: "at least once" })
  console.log(`soak: ${log.length} faults, ${cluster.callers.calls.length} calls, ${rows.length} runs`)
  expect(rows.length).toBeGreaterThan(0)
})
