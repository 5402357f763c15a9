/** The `collecting_until` of runs that are kept until their paused webhook is resumed. Plain data: the web UI loads it. */
export const keptUntil = "2100-01-01T00:00:00.000Z"
