/** Random faults: the same test seed gives the same faults in the same order at the same distances. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Random, randomFor, seeded } from "../../support/Random.ts"

/** Something that breaks, and is whole again when `inject` resolves. */
export interface Fault {
  readonly name: string
  readonly inject: (random: Random) => Promise<void>
}

/** Injects one fault after the other, with pauses between, until `isEnough`; returns what it did when. */
export const injectFaults = async (
  faults: ReadonlyArray<Fault>,
  options: {
    readonly isEnough: (done: { readonly faults: number; readonly ms: number }) => boolean
    readonly pauseMs: readonly [min: number, max: number]
  }
): Promise<ReadonlyArray<string>> => {
  const random = randomFor("faults")
  const begun = performance.now()
  const log: Array<string> = []
  while (!options.isEnough({ faults: log.length, ms: performance.now() - begun })) {
    await sleep(random.between(...options.pauseMs))
    const fault = random.pick(faults)
    log.push(`${((performance.now() - begun) / 1000).toFixed(1)} s: ${fault.name}`)
    // Numbers of its own: how many a fault draws does not change the next fault.
    await fault.inject(seeded(Math.floor(random.next() * 2 ** 32)))
  }
  return log
}

/** It ends, stays away for up to `maxMs` milliseconds, and starts again. */
export const restart = (
  name: string,
  maxMs: number,
  end: () => Promise<unknown>,
  start: () => Promise<unknown>
): Fault => ({
  name,
  inject: async (random) => {
    await end()
    await sleep(random.between(0, maxMs))
    await start()
  }
})

/** It stops responding for up to `maxMs` milliseconds. */
export const freeze = (name: string, maxMs: number, pause: () => void, resume: () => void): Fault => ({
  name,
  inject: async (random) => {
    pause()
    await sleep(random.between(100, maxMs))
    resume()
  }
})
