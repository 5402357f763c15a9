/** Random faults: the same test seed gives the same faults in the same order at the same distances. */
import { setTimeout as sleep } from "node:timers/promises"
import { randomFor } from "../../support/Random.ts"
import { type Random, seeded } from "../../support/Seeded.ts"
import type { Span } from "./Checker.ts"

/** Something that breaks, and is whole again when `inject` resolves. */
export interface Fault {
  readonly name: string
  readonly inject: (random: Random) => Promise<void>
  /** Meanwhile the broker gives replies to no server. */
  readonly withholdsReplies?: true
}

/** What was done, and when. */
export interface Injected extends Span {
  readonly fault: Fault
}

/** How often the seeded storm breaks two things at once. */
const togetherOften = 0.3

/**
 * Injects faults, with pauses between, until `isEnough`; returns what it did. Each comes from one of the groups; of faults
 * of different groups two may be injected at the same time.
 */
export const injectFaults = async (
  groups: ReadonlyArray<ReadonlyArray<Fault>>,
  options: {
    readonly isEnough: (done: { readonly faults: number; readonly ms: number }) => boolean
    readonly pauseMs: readonly [min: number, max: number]
    readonly report?: (line: string) => void
  }
): Promise<ReadonlyArray<Injected>> => {
  const random = randomFor("faults")
  const begun = performance.now()
  const log: Array<Injected> = []
  while (!options.isEnough({ faults: log.length, ms: performance.now() - begun })) {
    await sleep(random.between(...options.pauseMs))
    const group = random.pick(groups)
    const others = groups.filter((other) => other !== group)
    const second = others.length > 0 && random.next() < togetherOften ? [random.pick(random.pick(others))] : []
    const faults = [random.pick(group), ...second]
    const from = performance.now()
    options.report?.(`${new Date().toISOString()}: ${faults.map(({ name }) => name).join(", and ")}`)
    // Numbers of its own: how many a fault draws does not change the next fault.
    const randoms = faults.map(() => seeded(Math.floor(random.next() * 2 ** 32)))
    await Promise.all(faults.map((fault, index) => fault.inject(randoms[index]!)))
    log.push(...faults.map((fault): Injected => ({ fault, from, to: performance.now() })))
  }
  return log
}

/** It breaks, stays so for `ms` milliseconds, and is mended. */
export const breakFor = async (
  random: Random,
  [min, max]: readonly [min: number, max: number],
  begin: () => unknown,
  end: () => unknown
): Promise<void> => {
  await begin()
  await sleep(random.between(min, max))
  await end()
}

/** It ends, stays away for up to `maxMs` milliseconds, and starts again. */
export const restart = (
  name: string,
  maxMs: number,
  end: () => Promise<unknown>,
  start: () => Promise<unknown>
): Fault => ({ name, inject: (random) => breakFor(random, [0, maxMs], end, start) })

/** How long something stops responding, in milliseconds: it is noticed, or it is not. */
export const timeStopped = [5000, 30_000] as const

/** It stops responding for 5 to 30 seconds. */
export const freeze = (name: string, pause: () => void, resume: () => void): Fault => ({
  name,
  inject: (random) => breakFor(random, timeStopped, pause, resume)
})
