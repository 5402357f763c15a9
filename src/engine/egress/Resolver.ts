/** How the addresses of a destination's host are found. */
import { lookup, Resolver } from "node:dns/promises"
import { DeadlinePassed, withDeadline } from "../../runtime/Deadline.ts"

/** All addresses of a name, of both families. Fails if there are none. */
export type Resolve = (hostname: string) => Promise<ReadonlyArray<string>>

/** In milliseconds: for one question to a name server, and for a name in all. */
const ofQuestion = 2_000
const ofName = 5_000

/**
 * Asks the name servers directly. The system's function would use one of Node's few threads for each name, so a few names
 * whose servers do not answer would delay all others, and the look-ups of the database and the broker.
 */
export const byNameServers = (): Resolve => {
  const resolver = new Resolver({ timeout: ofQuestion, tries: 2 })
  return (hostname) => withinLimit(hostname, both(resolver, hostname))
}

/** Also reads the hosts file and whatever else the system is set up to use, one name at a time. */
export const bySystem = (): Resolve => {
  let last: Promise<unknown> = Promise.resolve()
  return (hostname) => {
    const found = last.then(() => lookup(hostname, { all: true }))
    last = found.catch(() => undefined)
    return withinLimit(
      hostname,
      found.then((all) => all.map(({ address }) => address))
    )
  }
}

const both = async (resolver: Resolver, hostname: string): Promise<ReadonlyArray<string>> => {
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
  const [first] = answers
  if (addresses.length === 0 && first.status === "rejected") throw first.reason
  return addresses
}

const withinLimit = <A>(hostname: string, found: Promise<A>): Promise<A> =>
  withDeadline(ofName, () => found).catch((error) => {
    throw error instanceof DeadlinePassed ? new Error(`the name servers do not answer for ${hostname}`) : error
  })
