/** What a destination can get. Plain data: the web UI loads it without `Schema`. */
import type { FinalStatus } from "../run/RunStatus.ts"

/** One event for each way in which a run ends. A final status without a line here does not compile. */
export const eventOfStatus = {
  success: "run.succeeded",
  error: "run.failed",
  timeout: "run.timed_out",
  cancelled: "run.cancelled"
} as const satisfies { readonly [S in FinalStatus]: string }

export type RunEndEvent = (typeof eventOfStatus)[FinalStatus]

/** What a webhook's destinations get, unless they ask for something else. */
export const runEndEvents = Object.values(eventOfStatus) as [RunEndEvent, ...Array<RunEndEvent>]

/** The run was sent to its team's leader. */
export const startEvent = "run.started"

export type DestinationRunEvent = typeof startEvent | RunEndEvent

/** What a webhook's destinations can get. */
export const runEvents: [DestinationRunEvent, ...Array<DestinationRunEvent>] = [startEvent, ...runEndEvents]

/** What alert destinations get. */
export const alertEvents = ["alert.firing", "alert.resolved"] as const
export type AlertEvent = (typeof alertEvents)[number]

export type DestinationEvent = DestinationRunEvent | AlertEvent

export const allEvents: [DestinationEvent, ...Array<DestinationEvent>] = [...runEvents, ...alertEvents]
