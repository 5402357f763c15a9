const given = process.env.TEST_STORMS
if (given !== undefined && given !== "full") throw new Error(`TEST_STORMS must be "full" or not set, not "${given}"`)

/** A fifth of a storm's size, so that `npm test` stays short; all of it if `TEST_STORMS` is "full". */
export const stormSize = (full: number): number => (given === "full" ? full : Math.ceil(full / 5))
