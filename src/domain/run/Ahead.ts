/** Of the runs ahead of a queued one, so many are counted at most. Plain data: the web UI loads it. */
export const mostCountedAhead = 1_000
