/** Random numbers that a seed repeats, also outside of Vitest. */
export interface Random {
  /** From 0 to 1. */
  readonly next: () => number
  readonly between: (min: number, max: number) => number
  readonly pick: <A>(from: ReadonlyArray<A>) => A
}

/** The same seed gives the same numbers (mulberry32). */
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
