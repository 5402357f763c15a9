/**
 * Prints how long callers get no answers after a fault, measured on two servers, for each server and team. Asserts only that
 * calls are answered again. `RECOVERY_TRIES` says how often each fault is tried: once, unless set.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, test } from "vitest"
import type { Proxy } from "../../support/Proxy.ts"
import { until } from "../../support/Until.ts"
import type { Call } from "../support/Callers.ts"
import { Cluster } from "../support/Cluster.ts"
import { type PrivateServices, privateServices } from "../support/Services.ts"
import type { TestServer } from "../support/TestServer.ts"

const tries = Number(process.env.RECOVERY_TRIES ?? 1)
const teams = ["a", "b", "c"]
/** Milliseconds between two calls to a server for a team. */
const callEvery = 100
/** How long callers call before and after the fault, in milliseconds. */
const lookBefore = 3_000
const lookAfter = 10_000

/** What a fault breaks: the server that sends the prompts, its way to the database, the database itself, or the broker. */
interface Target {
  readonly first: TestServer
  readonly database: Proxy
  readonly postgres: PrivateServices["postgres"]
  readonly rabbitmq: PrivateServices["rabbitmq"]
}

interface Fault {
  readonly name: string
  /** Resolves when the outage is over, with how long nobody can have been answered, in milliseconds. */
  readonly inject: (target: Target) => Promise<number>
  /** Whether the first server can answer at all. */
  readonly sparesFirst: boolean
}

/** The outage lasts until the service is ready again. */
const killed = async (service: Pick<PrivateServices["postgres"], "kill" | "start">): Promise<number> => {
  const from = performance.now()
  await service.kill()
  await sleep(3_000)
  await service.start()
  return performance.now() - from
}

const faults: ReadonlyArray<Fault> = [
  {
    name: "the dispatching server is killed",
    sparesFirst: false,
    inject: async ({ first }) => {
      first.signal("SIGKILL")
      return 0
    }
  },
  {
    name: "the dispatching server is stopped (SIGSTOP)",
    sparesFirst: false,
    inject: async ({ first }) => {
      first.signal("SIGSTOP")
      return 0
    }
  },
  {
    name: "the dispatching server's database is silent",
    sparesFirst: false,
    inject: async ({ database }) => {
      database.silence("all")
      return 0
    }
  },
  {
    name: "PostgreSQL is killed for 3 s",
    sparesFirst: true,
    inject: ({ postgres }) => killed(postgres)
  },
  {
    name: "the broker is killed for 3 s",
    sparesFirst: true,
    inject: ({ rabbitmq }) => killed(rabbitmq)
  }
]

let own: PrivateServices
beforeAll(async () => {
  own = await privateServices({ postgres: true, rabbitmq: true })
}, 180_000)
afterAll(() => own.close())

describe("longest time without an answer, beyond the outage", () => {
  for (const fault of faults) {
    test(fault.name, { timeout: tries * 240_000 }, async () => {
      const measured: Array<Gaps> = []
      for (let n = 0; n < tries; n++) measured.push(await measure(fault))
      const ordered = measured.map(({ after }) => after).sort((a, b) => a - b)
      const all = measured.map(({ after, before }) => `${seconds(after)} (before: ${seconds(before)})`)
      console.log(`${fault.name}: median ${seconds(ordered[tries >> 1]!)} s of ${all.join(", ")}`)
    })
  }
})

const seconds = (ms: number): string => (ms / 1000).toFixed(1)

/** The longest times without an answer, in milliseconds. Those before the fault are the machine's. */
interface Gaps {
  readonly before: number
  readonly after: number
}

const longestGap = (times: ReadonlyArray<number>): number =>
  Math.max(0, ...times.slice(1).map((time, index) => time - times[index]!))

const measure = async ({ inject, sparesFirst }: Fault): Promise<Gaps> => {
  const cluster = await Cluster.create(own.services)
  try {
    const database = await cluster.storage.proxy("database")
    const { server: first } = await cluster.single({}, { database })
    const second = await cluster.server()
    const webhooks = await Promise.all(teams.map((team) => cluster.webhook(first, { team })))
    for (const team of teams) await cluster.leader(team)
    for (const team of teams) await cluster.running(second, team)
    const callers = (sparesFirst ? [first, second] : [second]).flatMap((server) =>
      webhooks.map((webhook) => ({ server, webhook, answered: [] as Array<Call> }))
    )
    const calls: Array<Promise<unknown>> = []
    const timers = callers.map(({ answered, server, webhook }) =>
      setInterval(() => {
        const call = cluster.callers.trigger(server, webhook, { wait: true })
        calls.push(call.then((call) => call.status === 200 && answered.push(call)))
      }, callEvery)
    )
    await sleep(lookBefore)
    const injectedAt = performance.now()
    const outage = await inject({ first, database, postgres: own.postgres, rabbitmq: own.rabbitmq })
    const overAt = performance.now()
    await sleep(lookAfter)
    await until(
      "each caller is answered again",
      () => callers.every(({ answered }) => answered.some(({ sentAt }) => sentAt > overAt)),
      60_000
    ).finally(() => timers.forEach((timer) => clearInterval(timer)))
    await Promise.all(calls)
    const gaps = callers.map(({ answered }): Gaps => {
      const times = answered.map(({ answeredAt }) => answeredAt!).sort((a, b) => a - b)
      const lastBefore = times.findLastIndex((time) => time < injectedAt)
      return { before: longestGap(times.slice(1, lastBefore + 1)), after: longestGap(times.slice(lastBefore)) }
    })
    const of = (gap: keyof Gaps): number => Math.max(...gaps.map((each) => each[gap]))
    return { before: of("before"), after: Math.max(0, of("after") - outage) }
  } finally {
    await cluster.close()
  }
}
