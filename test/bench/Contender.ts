import type { Place } from "./Place.ts"
import type { Counts } from "./rivals/src/Control.ts"
import type { Webhook } from "./rivals/src/Given.ts"

export type { Counts, Webhook }

/** Callers at a time. */
export const connections = 64

export interface Contender {
  /** For `--only`. */
  readonly name: string
  /** For the tables. */
  readonly title: string
  /** What it is, in a sentence for the page. */
  readonly about: string
  /** Which callers it can serve that wait for the answer. */
  readonly waits: "one team" | "many teams" | "no"
  /** Whether it answers callers that do not wait. */
  readonly accepts: boolean
  /** Whether a leader has every prompt soon after the load, because it was published before the answer. */
  readonly publishesFirst?: true
  readonly start: (place: Place) => Promise<Running>
}

export interface Running {
  readonly pid: number
  /** From the start of the process until it served. */
  readonly startSeconds: number
  /** Of the store that it keeps its runs in, when that is a process of its own: for its share of the work. */
  readonly store?: "postgres" | { readonly pid: number }
  /** The trigger of the one team, and those of 16 others, where there are any. */
  readonly url: string
  readonly urls: ReadonlyArray<string>
  readonly counts: () => Promise<Counts>
}

export const webhookTemplate = "{{text}} of {{nested.ref}}"

/** The one team, and 16 others. */
export const team = "bench"
export const teams: ReadonlyArray<string> = Array.from({ length: 16 }, (_, n) => `team-${n + 1}`)
