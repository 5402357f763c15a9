/**
 * Prints a time, in milliseconds, in seconds. Times depend on the machine and on what else it does, so that a test that
 * asserts one fails by chance.
 */
export const measured = (what: string, ms: number): void => console.log(`${what}: ${(ms / 1000).toFixed(1)} s`)
