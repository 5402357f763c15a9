/** What the leaders of these tests do with a prompt. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Gate } from "../../support/Gate.ts"

interface Prompted {
  readonly prompt: string
}

/** The answer that belongs to a prompt and to no other. */
export const answerTo = (prompt: string): string => `answer to ${prompt}`

/** Works on every prompt until the gate is open. */
export const answerWhenOpen =
  (gate: Gate) =>
  async ({ prompt }: Prompted): Promise<string> => {
    await gate.opened
    return answerTo(prompt)
  }

/** Works on each prompt for so many milliseconds. */
export const answerAfter =
  (workMs: number | (() => number)) =>
  async ({ prompt }: Prompted): Promise<string> => {
    await sleep(typeof workMs === "number" ? workMs : workMs())
    return answerTo(prompt)
  }
