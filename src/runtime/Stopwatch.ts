import type { Clock } from "effect"

/** The time by which durations are measured, in milliseconds. */
export const stopwatch = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
