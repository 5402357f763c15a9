/** What a destination can be told of a run. Plain data: the web UI loads it without `Schema`. */
import type { FinalStatus } from "../run/RunStatus.ts"

/** One event for each way in which a run ends. A final status without a line here does not compile. */
export const eventOfStatus = {
  success: "run.succeeded",
  error: "run.failed",
  timeout: "run.timed_out",
  cancelled: "run.cancelled"
} as const satisfies { readonly [S in FinalStatus]: string }

export type DestinationEvent = (typeof eventOfStatus)[FinalStatus]

export const allEvents = Object.values(eventOfStatus) as [DestinationEvent, ...Array<DestinationEvent>]
