/**
 * The states of a run, each defined once. Plain data: the web UI loads it without `Schema`, which is 120 KB of
 * compressed JavaScript.
 */

import { type HeldFor, holds } from "./Held.ts"

interface Unfinished {
  readonly final: false
}

/** A final state: the first one recorded wins. */
interface Final {
  readonly final: true
  /** Whether it shows that the team worked until then. If so, the clocks of its later runs start there. */
  readonly answered: boolean
  /** Whether a later answer is stored with the run, which keeps its state. */
  readonly storesLateAnswer: boolean
}

export const runStatuses = {
  /** Accepted, not known to be sent. */
  queued: { final: false },
  /** The broker has confirmed the prompt. */
  running: { final: false },
  /** The agent answered. */
  success: { final: true, answered: true, storesLateAnswer: false },
  /** The leader reported an error, or the prompt could not be delivered. */
  error: { final: true, answered: true, storesLateAnswer: false },
  /** The timeout passed first. */
  timeout: { final: true, answered: false, storesLateAnswer: true },
  /** Cancelled by its caller or an admin. */
  cancelled: { final: true, answered: false, storesLateAnswer: true }
} as const satisfies { readonly [status: string]: Unfinished | Final }

export type RunStatus = keyof typeof runStatuses

/** The final states. */
export type FinalStatus = { [S in RunStatus]: (typeof runStatuses)[S]["final"] extends true ? S : never }[RunStatus]

export const allStatuses = Object.keys(runStatuses) as [RunStatus, ...Array<RunStatus>]

/** The status as people see it: held runs are told from queued ones, and sent runs from those in work. */
export type RunPhase = Exclude<RunStatus, "running"> | (typeof holds)[HeldFor]["phase"] | "sent" | "working"

export const phaseOf = ({
  status,
  held_for,
  started_at
}: {
  readonly status: RunStatus
  readonly held_for?: HeldFor | undefined
  readonly started_at?: unknown
}): RunPhase => {
  if (status === "running") return started_at === undefined ? "sent" : "working"
  return held_for === undefined ? status : holds[held_for].phase
}

export const isFinal = (status: RunStatus): status is FinalStatus => runStatuses[status].final

/** The limits of a run at which its agent is stopped. */
export const limitCodes = ["turns_exceeded", "cost_exceeded"] as const

/** A leader's error codes: a limit, an agent that was silent too long, or an answer that does not match its schema. */
export const leaderCodes = [...limitCodes, "agent_stalled", "answer_invalid"] as const
export type LeaderCode = (typeof leaderCodes)[number]

export const isLeaderCode = (code: unknown): code is LeaderCode => leaderCodes.some((each) => each === code)

/** The codes of errors that end a leader's work. */
export const leaderErrors: ReadonlyArray<string> = ["agent_error", "answer_too_large", ...leaderCodes]

/** Whether the run has ended, but its agent may still work: it holds its team and its slots. */
export const isUnreleased = ({
  stop_at,
  released_at
}: {
  readonly stop_at?: unknown
  readonly released_at?: unknown
}): boolean => stop_at !== undefined && released_at === undefined

/** Whether to cancel the run changes anything. */
export const isCancellable = (run: {
  readonly status: RunStatus
  readonly cancelled_by?: unknown
  readonly retry_at?: unknown
  readonly stop_at?: unknown
  readonly released_at?: unknown
}): boolean =>
  !isFinal(run.status) || (run.cancelled_by === undefined && (run.retry_at !== undefined || isUnreleased(run)))

export const finalStatuses = allStatuses.filter(isFinal)

/** The ends that say how well a webhook works. A run that somebody or a newer run has cancelled says nothing about that. */
const ratedStatuses = ["success", "error", "timeout"] as const

export const countRated = (counts: { readonly [S in (typeof ratedStatuses)[number]]: number }): number =>
  ratedStatuses.reduce((sum, status) => sum + counts[status], 0)

/** The share of successes among the runs that succeeded, failed or timed out; `undefined` if there are none. */
export const successShare = (counts: Parameters<typeof countRated>[0]): number | undefined =>
  countRated(counts) === 0 ? undefined : counts.success / countRated(counts)

const finalWhere = (fact: "answered" | "storesLateAnswer") =>
  finalStatuses.filter((status) => runStatuses[status][fact])

export const answeredStatuses = finalWhere("answered")

export const lateAnswerStatuses = finalWhere("storesLateAnswer")
