/** When a delivery is attempted: the schedule that the Standard Webhooks specification recommends. */
import { DateTime, Duration } from "effect"

/** The delay before each attempt, counted from the attempt before. */
export const delays: ReadonlyArray<Duration.Duration> = [
  Duration.zero,
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(10)
]

/** The maximum that a destination can ask for with `Retry-After`. */
const maxRetryAfter = Duration.hours(24)

/** A destination that has failed for so long is paused. */
export const failsFor = Duration.days(5)

/**
 * The pause until the next attempt; `undefined`: there is none.
 *
 * @param made how many attempts were made
 * @param random from 0 to 1: up to a tenth is added, so that retries of many deliveries spread out
 */
export const pauseAfter = (
  made: number,
  { random, retryAfter }: { readonly random: number; readonly retryAfter?: Duration.Duration | undefined }
): Duration.Duration | undefined => {
  const delay = delays[made]
  if (delay === undefined) return undefined
  const jittered = Duration.times(delay, 1 + random / 10)
  return retryAfter === undefined ? jittered : Duration.max(jittered, Duration.min(retryAfter, maxRetryAfter))
}

/** The pauses of a destination that fails. */
const shortestPause = Duration.seconds(5)
const longestPause = Duration.minutes(5)

/**
 * Until when a destination whose attempts fail gets none: for as long again as it has been failing, so that each pause
 * is twice the one before.
 *
 * @param now when the last attempt ended
 */
export const pausedUntil = (
  failingSince: DateTime.Utc,
  now: DateTime.Utc,
  retryAfter: Duration.Duration = Duration.zero
): DateTime.Utc => {
  const failing = DateTime.distance(failingSince, now)
  const pause = Duration.clamp(failing, { minimum: shortestPause, maximum: longestPause })
  return DateTime.addDuration(now, Duration.max(pause, Duration.min(retryAfter, maxRetryAfter)))
}
