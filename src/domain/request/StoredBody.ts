/**
 * How much of a body is stored, and how much of it a list shows, in bytes. Plain data: the browser loads it without
 * Effect.
 */
export const storedBodyBytes = 64 * 1024
export const listedBodyBytes = 2048
