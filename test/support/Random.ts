/**
 * Reproducible random numbers. Every test file draws from one seed, which a failed test prints and which `TEST_SEED`
 * sets. (fast-check prints the seed of a failed property itself.)
 */
import { afterEach } from "vitest"
import { getCurrentTest } from "vitest/suite"

const given = process.env.TEST_SEED
if (given !== undefined && !/^\d+$/.test(given)) throw new Error(`TEST_SEED must be a whole number, not "${given}"`)

export const testSeed: number = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given)

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

/** Numbers for one purpose, from the test seed: other draws do not change them. Outside of tests, so that each prints it. */
export const randomFor = (purpose: string): Random => {
  if (getCurrentTest() === undefined) {
    afterEach(({ task }) => {
      if (task.result?.state === "fail") console.error(`Random numbers of this file: TEST_SEED=${testSeed}`)
    })
  }
  return seeded([...purpose].reduce((hash, char) => Math.imul(hash, 31) + char.charCodeAt(0), testSeed))
}
