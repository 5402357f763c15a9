/**
 * The states of a run, each said once. Plain data: the web UI loads it without `Schema`, which is 120 KB of compressed
 * JavaScript.
 */

interface Unfinished {
  readonly final: false
}

/** The end of a run: the first one that is recorded wins, and nothing comes after it. */
interface Final {
  readonly final: true
  /** Whether it shows that the team was at work until then, so that the clocks of its later runs start from there. */
  readonly answered: boolean
  /** Whether an answer that comes later is stored with the run, which keeps its state. */
  readonly storesLateAnswer: boolean
}

export const runStatuses = {
  /** Accepted; not known to be sent. */
  queued: { final: false },
  /** The broker has confirmed the prompt. */
  running: { final: false },
  /** The agent answered. */
  success: { final: true, answered: true, storesLateAnswer: false },
  /** The leader reported an error, or the prompt could not be delivered. */
  error: { final: true, answered: true, storesLateAnswer: false },
  /** The timeout passed first. */
  timeout: { final: true, answered: false, storesLateAnswer: true },
  /** Its caller or an admin cancelled it. */
  cancelled: { final: true, answered: false, storesLateAnswer: true }
} as const satisfies { readonly [status: string]: Unfinished | Final }

export type RunStatus = keyof typeof runStatuses

/** The states in which a run ends. */
export type FinalStatus = { [S in RunStatus]: (typeof runStatuses)[S]["final"] extends true ? S : never }[RunStatus]

export const allStatuses = Object.keys(runStatuses) as [RunStatus, ...Array<RunStatus>]

export const isFinal = (status: RunStatus): status is FinalStatus => runStatuses[status].final

export const finalStatuses = allStatuses.filter(isFinal)

const finalWhere = (fact: "answered" | "storesLateAnswer") =>
  finalStatuses.filter((status) => runStatuses[status][fact])

export const answeredStatuses = finalWhere("answered")

export const lateAnswerStatuses = finalWhere("storesLateAnswer")
