/**
 * Reproducible random numbers. Every test file draws from one seed, which a failed test prints and which `TEST_SEED`
 * sets. (fast-check prints the seed of a failed property itself.)
 */
import { afterEach, TestRunner } from "vitest"
import { type Random, seeded } from "./Seeded.ts"

const given = process.env.TEST_SEED
if (given !== undefined && !/^\d+$/.test(given)) throw new Error(`TEST_SEED must be a whole number, not "${given}"`)

export const testSeed: number = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given)

/** Numbers for one purpose, from the test seed: other draws do not change them. Outside of tests, so that each prints it. */
export const randomFor = (purpose: string): Random => {
  if (TestRunner.getCurrentTest() === undefined) {
    afterEach(({ task }) => {
      if (task.result?.state === "fail") console.error(`Random numbers of this file: TEST_SEED=${testSeed}`)
    })
  }
  return seeded([...purpose].reduce((hash, char) => Math.imul(hash, 31) + char.charCodeAt(0), testSeed))
}
