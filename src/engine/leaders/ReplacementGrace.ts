import { type Clock, Duration } from "effect"
import { replacedAfter } from "../../repo/run/HttpLeaderStore.ts"
import { stopwatch } from "../../runtime/Stopwatch.ts"

/** If the database was not read for this long, in milliseconds, there was an outage: it is read once a second. */
const outage = 3_000

/**
 * Whether leaders were able to show their presence for as long as a leader may be silent. After the start of the server, an
 * outage of the database, or while the process was frozen, all of them were silent. A standby that asks first would
 * otherwise repeat the work of a leader that is present.
 */
interface ReplacementGrace {
  /** The database was read. */
  readonly read: () => void
  readonly mayReplace: () => boolean
}

export const make = (clock: Clock.Clock): ReplacementGrace => {
  let readAt = stopwatch(clock)
  let since = readAt
  const check = () => {
    const now = stopwatch(clock)
    if (now - readAt > outage) since = now
    return now
  }
  return {
    read: () => {
      readAt = check()
    },
    mayReplace: () => check() - since >= Duration.toMillis(replacedAfter)
  }
}
