/**
 * `npm run soak -- <minutes> [seed]`: random faults of every kind, of servers, database, broker, leaders, queues and network,
 * one or two at a time, under load; then the same checker. Not part of `npm test`.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { Gate } from "../../support/Gate.ts"
import { testSeed } from "../../support/Random.ts"
import type { Random } from "../../support/Seeded.ts"
import { FairClock } from "../../support/time/FairClock.ts"
import type { Purge } from "../support/Checker.ts"
import { Cluster } from "../support/Cluster.ts"
import { clusterUnderLoad, crashes, freezes } from "../support/ClusterUnderLoad.ts"
import { breakFor, type Fault, freeze, type Injected, injectFaults, restart, timeStopped } from "../support/Faults.ts"
import { leaderNetworkFaults, networkFaults } from "../support/NetworkFaults.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"
import { teamQueue } from "../support/TeamQueue.ts"

const minutes = Number(process.env.SOAK_MINUTES ?? 10)
/** How long what was ended stays away at the most, in milliseconds. */
const timeAway = 10_000
/** What leaders do, in milliseconds: most prompts are answered soon, one in a hundred takes long. */
const workMs = (random: Random) => (random.next() < 0.01 ? random.between(500, 4000) : random.between(0, 30))
/**
 * An answer is recorded within that many milliseconds, by another server if the one that got it cannot: it is given up by
 * the broker after 3 seconds. More than that, since all shares the machine.
 */
const answersWithin = 5000
/** How long servers need to be connected again after the broker was away for all of them, in milliseconds. */
const timeToReconnect = 15_000

const ofBroker = ({ rabbitmq }: PrivateServices): ReadonlyArray<Fault> => [
  { ...restart("the broker is stopped", timeAway, rabbitmq.stop, rabbitmq.start), withholdsReplies: true },
  { ...restart("the broker is killed", timeAway, rabbitmq.kill, rabbitmq.start), withholdsReplies: true },
  { ...freeze("the broker is frozen", rabbitmq.pause, rabbitmq.resume), withholdsReplies: true },
  {
    name: "the broker has no memory left",
    inject: (random) =>
      breakFor(
        random,
        timeStopped,
        () => rabbitmq.control("set_vm_memory_high_watermark", "absolute", "1"),
        () => rabbitmq.control("set_vm_memory_high_watermark", "0.4")
      )
  }
]

const ofDatabase = ({ postgres }: PrivateServices): ReadonlyArray<Fault> => [
  restart("PostgreSQL crashes", timeAway, postgres.crash, postgres.start),
  restart("PostgreSQL is stopped", timeAway, postgres.stop, postgres.start),
  freeze("PostgreSQL is frozen", postgres.pause, postgres.resume)
]

const ofLeaders = ({ leaders }: Cluster): ReadonlyArray<Fault> => [
  {
    name: "a leader crashes",
    inject: (random) => {
      const leader = random.pick(leaders)
      return breakFor(
        random,
        [0, timeAway],
        () => leader.crash(),
        () => leader.start()
      )
    }
  },
  {
    name: "a leader is busy",
    inject: async (random) => {
      const leader = random.pick(leaders)
      const { handle } = leader
      if (handle === "never") return
      const isOver = new Gate()
      const begin = () => {
        leader.handle = (delivery) => isOver.opened.then(() => handle(delivery))
      }
      const end = () => {
        leader.handle = handle
        isOver.open()
      }
      await breakFor(random, timeStopped, begin, end)
    }
  }
]

/** `purges`: when which was. */
const ofQueues = ({ storage }: Cluster, teams: ReadonlyArray<string>, purges: Array<Purge>): ReadonlyArray<Fault> => [
  {
    name: "a team's queue is deleted",
    // What fails is done by another fault: there is no broker.
    inject: (random) => storage.deleteQueue(teamQueue(random.pick(teams))).catch(() => {})
  },
  {
    name: "a team's queue is purged",
    inject: async (random) => {
      const team = random.pick(teams)
      const from = performance.now()
      await storage.purgeQueue(teamQueue(team)).catch(() => {})
      purges.push({ team, from, to: performance.now() })
    }
  }
]

test(`every promise is kept through ${minutes} minutes of random faults`, {
  timeout: minutes * 60_000 + 900_000
}, async ({ onTestFailed, onTestFinished }) => {
  console.log(`soak: ${minutes} minutes with seed ${testSeed}; again: npm run soak -- ${minutes} ${testSeed}`)
  const own = await privateServices({ postgres: true, rabbitmq: true })
  onTestFinished(own.close)
  const cluster = await Cluster.create(own.services)
  onTestFinished(() => cluster.close())
  onTestFailed(() => console.error(cluster.lastOutput))
  const proxy = (which: "broker" | "database") => cluster.storage.proxy(which)
  const proxies = []
  for (let n = 0; n < 3; n++) proxies.push({ broker: await proxy("broker"), database: await proxy("database") })
  const leaderProxies = []
  for (let n = 0; n < 4; n++) leaderProxies.push(await proxy("broker"))
  const running = await clusterUnderLoad(cluster, { proxies, leaderProxies, timeout_seconds: 10, workMs, pauseMs: 300 })
  for (const leader of cluster.leaders.slice(0, 2)) leader.reportsStart = true
  const purges: Array<Purge> = []
  const faults = [
    [...crashes(running), ...freezes(running)],
    ofBroker(own),
    ofDatabase(own),
    [...ofLeaders(cluster), ...leaderNetworkFaults(leaderProxies)],
    ofQueues(cluster, running.teams, purges),
    networkFaults(proxies)
  ]
  const clock = new FairClock()
  onTestFinished(() => clock.stop())
  const log = await injectFaults(faults, {
    isEnough: ({ ms }) => ms >= minutes * 60_000,
    pauseMs: [500, 5000],
    report: console.log
  })
  await running.stop()
  const withheld = log
    .filter(({ fault }) => fault.withholdsReplies)
    .map(({ from, to }) => ({ from, to: to + timeToReconnect }))
  const answers = { withinMs: answersWithin, withheld, between: clock.between }
  const rows = await cluster
    .checked({ limits: running.limits, limit: 300_000, answers, purges })
    .catch(async (error) => {
      await keepEvidence(cluster, log, purges)
      throw error
    })
  const of = (status: string) => rows.filter((row) => row.status === status).length
  console.log(
    `soak: ${log.length} faults, ${cluster.callers.calls.length} calls, ${rows.length} runs ` +
      `(${of("success")} answered, ${of("timeout")} timed out, ${of("error")} failed), ${cluster.deliveries.length} deliveries`
  )
  expect(rows.length).toBeGreaterThan(0)
})

/** What is needed to find out why a promise was broken. */
const keepEvidence = async (cluster: Cluster, log: ReadonlyArray<Injected>, purges: ReadonlyArray<Purge>) => {
  const dir = join(tmpdir(), `webhook-trigger-soak-${testSeed}`)
  mkdirSync(dir, { recursive: true })
  const evidence = {
    timeOrigin: performance.timeOrigin,
    faults: log.map(({ fault, ...span }) => ({ name: fault.name, ...span })),
    purges,
    calls: cluster.callers.calls,
    deliveries: cluster.deliveries,
    rows: await cluster.storage.rows()
  }
  for (const [name, of] of Object.entries(evidence)) writeFileSync(join(dir, `${name}.json`), JSON.stringify(of))
  for (const [n, server] of cluster.servers.entries()) writeFileSync(join(dir, `server-${n}.log`), server.output())
  console.error(`soak: what was seen is in ${dir}`)
}
