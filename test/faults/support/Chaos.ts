/** Random faults by a seed: the same seed gives the same faults in the same order at the same distances. */
import { setTimeout as sleep } from "node:timers/promises"

export interface Random {
  /** From 0 to 1. */
  readonly next: () => number
  readonly between: (min: number, max: number) => number
  readonly pick: <A>(from: ReadonlyArray<A>) => A
}

/** mulberry32 */
export const seeded = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    between: (min, max) => min + next() * (max - min),
    pick: (from) => from[Math.floor(next() * from.length)]!
  }
}

/** Something that breaks and is whole again when it resolves. */
export interface Fault {
  readonly name: string
  readonly strike: (random: Random) => Promise<void>
}

/** Strikes for `ms`, one fault after the other with pauses between; says what it does. */
export const strike = async (
  faults: ReadonlyArray<Fault>,
  options: { readonly seed: number; readonly ms: number; readonly pauseMs: readonly [number, number] }
): Promise<ReadonlyArray<string>> => {
  const random = seeded(options.seed)
  const begun = performance.now()
  const log: Array<string> = []
  while (performance.now() - begun < options.ms) {
    await sleep(random.between(...options.pauseMs))
    const fault = random.pick(faults)
    log.push(`${((performance.now() - begun) / 1000).toFixed(1)} s: ${fault.name}`)
    await fault.strike(seeded(Math.floor(random.next() * 2 ** 32)))
  }
  return log
}
