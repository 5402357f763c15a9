import type { Place } from "./Place.ts"
import type { Counts } from "./rivals/src/Control.ts"
import type { Webhook } from "./rivals/src/Given.ts"

export type { Counts, Webhook }

/** Numbers of simultaneous callers. */
export const connections = 64

export interface Contender {
  /** For `--only`. */
  readonly name: string
  /** For the tables. */
  readonly title: string
  /** Its description for the page, in a sentence. */
  readonly about: string
  /** The waiting callers that it supports. */
  readonly waits: "one team" | "many teams" | "no"
  /** Whether it answers callers that do not wait. */
  readonly accepts: boolean
  /** Whether a leader gets every prompt soon after the load, because it was published before the response. */
  readonly publishesFirst?: true
  /** Whether its programs work all the time, even at rest: they are stopped while others are measured beside them. */
  readonly restless?: true
  readonly start: (place: Place) => Promise<Running>
}

export interface Running {
  readonly pid: number
  /** Seconds from the start of the process until it served. */
  readonly startSeconds: number
  /** The process of its store, if it has one: for its share of the costs. */
  readonly store?: "postgres" | { readonly pid: number }
  /** The trigger of the one team, and those of 16 others, if any. */
  readonly url: string
  readonly urls: ReadonlyArray<string>
  readonly counts: () => Promise<Counts>
}

export const webhookTemplate = "{{text}} of {{nested.ref}}"

/** The one team, and 16 others. */
export const team = "bench"
export const teams: ReadonlyArray<string> = Array.from({ length: 16 }, (_, n) => `team-${n + 1}`)
