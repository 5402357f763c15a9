/** The events that a destination can get. Plain data: the web UI loads it without `Schema`. */
import type { FinalStatus } from "../run/RunStatus.ts"

/** One event for each way in which a run ends. A final status without a line here does not compile. */
export const eventOfStatus = {
  success: "run.succeeded",
  error: "run.failed",
  timeout: "run.timed_out",
  cancelled: "run.cancelled"
} as const satisfies { readonly [S in FinalStatus]: string }

type RunEndEvent = (typeof eventOfStatus)[FinalStatus]

/** The events that a webhook's destinations get, unless they ask for others. */
export const runEndEvents = Object.values(eventOfStatus) as [RunEndEvent, ...Array<RunEndEvent>]

/** The run was sent to its team's leader. */
export const startEvent = "run.started"

/** The run waits for its approval. */
export const approvalEvent = "run.awaiting_approval"

/** The events before a run's end, each once at the most. */
export const earlyEvents = [approvalEvent, startEvent] as const
type EarlyEvent = (typeof earlyEvents)[number]

export const isEarly = (event: DestinationEvent): event is EarlyEvent =>
  (earlyEvents as ReadonlyArray<string>).includes(event)

export type DestinationRunEvent = EarlyEvent | RunEndEvent

/** The events that a webhook's destinations can get. */
export const runEvents: [DestinationRunEvent, ...Array<DestinationRunEvent>] = [...earlyEvents, ...runEndEvents]

/** The events that alert destinations get. */
export const alertEvents = ["alert.firing", "alert.resolved"] as const
export type AlertEvent = (typeof alertEvents)[number]

export type DestinationEvent = DestinationRunEvent | AlertEvent

export const allEvents: [DestinationEvent, ...Array<DestinationEvent>] = [...runEvents, ...alertEvents]
