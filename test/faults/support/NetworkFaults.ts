/** What a network does to the connections of one server, or of all, to the broker, the database, or both. */
import type { Proxy } from "../../support/Proxy.ts"
import type { Random } from "../../support/Seeded.ts"
import { breakFor, type Fault, timeStopped } from "./Faults.ts"

/** Between one server, or one leader, and its services. */
export interface Proxies {
  readonly broker: Proxy
  readonly database: Proxy
}

interface Failure {
  readonly what: string
  readonly inject: (proxies: ReadonlyArray<Proxy>, random: Random) => Promise<void>
}

/** Milliseconds. */
const timeSlow = [1000, 5000] as const

const whileBroken = (
  what: string,
  begin: (proxy: Proxy, random: Random) => void,
  end: (proxy: Proxy) => void,
  time: readonly [min: number, max: number] = timeStopped
): Failure => ({
  what,
  inject: (proxies, random) => {
    const forAll = (act: (proxy: Proxy) => void) => () => proxies.forEach(act)
    return breakFor(
      random,
      time,
      forAll((proxy) => begin(proxy, random)),
      forAll(end)
    )
  }
})

const failures: ReadonlyArray<Failure> = [
  { what: "are reset", inject: async (proxies) => proxies.forEach((proxy) => proxy.reset()) },
  { what: "go silent", inject: async (proxies) => proxies.forEach((proxy) => proxy.silence("present")) },
  whileBroken(
    "are refused",
    (proxy) => proxy.reset({ refuse: true }),
    (proxy) => proxy.pass()
  ),
  whileBroken(
    "go silent, new ones too",
    (proxy) => proxy.silence("all"),
    (proxy) => proxy.pass()
  ),
  ...(["sent", "received", "both"] as const).map((direction) =>
    whileBroken(
      direction === "both" ? "stand still" : `stand still for what is ${direction}`,
      (proxy) => proxy.hold(direction),
      (proxy) => proxy.letGo()
    )
  ),
  whileBroken(
    "are slow",
    (proxy, random) => proxy.delay(random.between(10, 300)),
    (proxy) => proxy.delay(0),
    timeSlow
  )
]

/** Each failure of the connections that `choose` gives. */
const ofConnections = (name: string, choose: (random: Random) => ReadonlyArray<Proxy>, more?: Partial<Fault>) =>
  failures.map(
    ({ inject, what }): Fault => ({
      name: `${name} ${what}`,
      inject: (random) => inject(choose(random), random),
      ...more
    })
  )

export const networkFaults = (servers: ReadonlyArray<Proxies>): ReadonlyArray<Fault> =>
  ([["broker"], ["database"], ["broker", "database"]] as const).flatMap((services) => {
    const name = `connections to ${services.join(" and ")}`
    const proxiesOf = (server: Proxies) => services.map((service) => server[service])
    return [
      ...ofConnections(`a server's ${name}`, (random) => proxiesOf(random.pick(servers))),
      ...ofConnections(
        `all ${name}`,
        () => servers.flatMap(proxiesOf),
        services[0] === "broker" ? { withholdsReplies: true } : {}
      )
    ]
  })

export const leaderNetworkFaults = (leaders: ReadonlyArray<Proxy>): ReadonlyArray<Fault> =>
  ofConnections("a leader's connections", (random) => [random.pick(leaders)])
