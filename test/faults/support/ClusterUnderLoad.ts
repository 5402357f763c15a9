/** Three servers under a steady load, for random faults. */
import { exitCodes } from "../../../src/cli/Failure.ts"
import type { Proxy } from "../../support/Proxy.ts"
import { randomFor } from "../../support/Random.ts"
import type { Random } from "../../support/Seeded.ts"
import { answerAfter } from "./Answers.ts"
import type { Webhook } from "./Callers.ts"
import type { Cluster, WebhookDraft } from "./Cluster.ts"
import { type Fault, freeze, restart } from "./Faults.ts"
import type { Proxies } from "./NetworkFaults.ts"
import type { TestServer } from "./TestServer.ts"

export interface ClusterUnderLoad {
  readonly servers: ReadonlyArray<TestServer>
  readonly teams: ReadonlyArray<string>
  readonly webhooks: ReadonlyArray<Webhook>
  readonly limits: { readonly global: number; readonly webhooks: Readonly<Record<string, number>> }
  /** Ends the load; resolves when every caller has an answer. */
  readonly stop: () => Promise<unknown>
}

export interface LoadOptions {
  /** Between each of the three servers and its services. */
  readonly proxies?: ReadonlyArray<Proxies>
  /** Between each of the four leaders and the broker. */
  readonly leaderProxies?: ReadonlyArray<Proxy>
  /** Of the last team's runs. */
  readonly timeout_seconds?: number
  /** How long a leader works on a prompt, in milliseconds. */
  readonly workMs?: (random: Random) => number
  /** Between the end of one call and the next, in milliseconds. */
  readonly pauseMs?: number
}

/** Four teams, five webhooks, two of them with a limit, and one team's chat. */
export const clusterUnderLoad = async (cluster: Cluster, options: LoadOptions = {}): Promise<ClusterUnderLoad> => {
  const { leaderProxies = [], pauseMs = 60, proxies = [], timeout_seconds, workMs } = options
  const env = { WEBHOOK_MAX_CONCURRENT: "6" }
  const servers = []
  for (const n of [0, 1, 2]) servers.push(await cluster.server({ env, ...proxies[n] }))
  const first = servers[0]!
  const teams = ["a", "b", "c", "d"]
  const ofTeam: Readonly<Record<string, Partial<WebhookDraft>>> = {
    a: { max_concurrent: 2 },
    d: timeout_seconds === undefined ? {} : { timeout_seconds }
  }
  const webhooks = []
  for (const team of teams) webhooks.push(await cluster.webhook(first, { team, ...ofTeam[team] }))
  webhooks.push(await cluster.webhook(first, { team: "b", max_concurrent: 8 }))
  const random = randomFor("work")
  const work = workMs ?? ((random: Random) => random.between(0, 30))
  for (const [n, team] of teams.entries()) {
    const broker = leaderProxies[n]
    await cluster.leader(team, { handle: answerAfter(() => work(random)), ...(broker && { broker }) })
  }
  for (const server of servers) for (const team of teams) await cluster.running(server, team)
  const stop = cluster.callers.load(servers, [...webhooks, cluster.chat("c")], { lanes: 6, pauseMs })
  return {
    servers,
    teams,
    webhooks,
    limits: { global: 6, webhooks: { [webhooks[0]!.id]: 2, [webhooks[4]!.id]: 8 } },
    stop
  }
}

/** A fault of one server, whichever the random numbers pick. */
const ofOne = (servers: ReadonlyArray<TestServer>, fault: (server: TestServer) => Fault): Fault => ({
  name: fault(servers[0]!).name,
  inject: (random) => fault(random.pick(servers)).inject(random)
})

/** Starts it, again and again as long as it ends because its database is out of reach for half a minute: as a supervisor. */
const start = async (server: TestServer): Promise<void> => {
  for (;;) {
    try {
      return await server.start()
    } catch (error) {
      if (server.exitCode !== exitCodes.outOfReach) throw error
    }
  }
}

const kill = (server: TestServer): Fault =>
  restart(
    "a server is killed",
    3000,
    () => server.kill(),
    () => start(server)
  )

const stop = (server: TestServer): Fault =>
  restart(
    "a server is stopped",
    1000,
    () => server.stop(),
    () => start(server)
  )

const suspend = (server: TestServer): Fault =>
  freeze(
    "a server is frozen",
    () => server.signal("SIGSTOP"),
    () => server.signal("SIGCONT")
  )

const killTwo = (servers: ReadonlyArray<TestServer>): Fault => ({
  name: "two servers are killed",
  inject: async (random) => {
    const spared = random.pick(servers)
    const others = servers.filter((server) => server !== spared)
    const killAll = () => Promise.all(others.map((server) => server.kill()))
    const startAll = () => Promise.all(others.map(start))
    await restart("two servers are killed", 3000, killAll, startAll).inject(random)
  }
})

/** One server killed comes twice: it is the fault that happens most. */
export const crashes = ({ servers }: ClusterUnderLoad): ReadonlyArray<Fault> => [
  ofOne(servers, kill),
  ofOne(servers, kill),
  killTwo(servers),
  ofOne(servers, stop)
]

export const freezes = ({ servers }: ClusterUnderLoad): ReadonlyArray<Fault> => [ofOne(servers, suspend)]
