/**
 * The states of a run, each said once. Plain data: the web UI loads it without `Schema`, which is 120 KB of compressed
 * JavaScript.
 */

/** A final state is the end of a run: the first one that is recorded wins, and nothing comes after it. */
export const runStatuses = {
  /** Accepted; not known to be sent. */
  queued: { final: false },
  /** The broker has confirmed the prompt. */
  running: { final: false },
  /** The agent answered. */
  success: { final: true },
  /** The leader reported an error, or the prompt could not be delivered. */
  error: { final: true },
  /** The timeout passed first. */
  timeout: { final: true }
} as const satisfies { readonly [status: string]: { readonly final: boolean } }

export type RunStatus = keyof typeof runStatuses

/** The states in which a run ends. */
export type FinalStatus = { [S in RunStatus]: (typeof runStatuses)[S]["final"] extends true ? S : never }[RunStatus]

export const allStatuses = Object.keys(runStatuses) as [RunStatus, ...Array<RunStatus>]

export const isFinal = (status: RunStatus): status is FinalStatus => runStatuses[status].final

export const finalStatuses = allStatuses.filter(isFinal)
