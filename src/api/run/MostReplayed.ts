/** The maximum number of runs that one request replays. */
export const mostReplayed = 1_000
