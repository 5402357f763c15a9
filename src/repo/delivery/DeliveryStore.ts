import { Context, type DateTime, type Effect } from "effect"
import type { Alert } from "../../domain/alert/Alert.ts"
import type { DeliveryAttempt, DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import type { AlertEvent, DestinationRunEvent } from "../../domain/delivery/DestinationEvent.ts"
import type { InvalidParameter, NotFound, Unavailable } from "../../domain/Errors.ts"
import type { DeliveryId, DestinationId, RunId, WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import type { Owner } from "./DestinationStore.ts"

/** What a delivery is about: the start or the end of a run, or an alert. */
type About =
  | {
      readonly event: DestinationRunEvent
      readonly webhook: { readonly id: WebhookId; readonly name: string }
      readonly run: Run
    }
  | { readonly event: AlertEvent; readonly alert: Alert }

/** A delivery whose next attempt this server may make. */
export type DueDelivery = About & {
  readonly id: DeliveryId
  /** When it was written. Of a run, when that started or ended. */
  readonly at: DateTime.Utc
  /** How many attempts of the schedule were made. */
  readonly made: number
  readonly destination: DestinationRow
  /** By `bucketOf`. */
  readonly bucket: number
  /** The message that it has written, whose buttons are removed, as its run no longer asks. */
  readonly written?: ChatMessage
}

/** How many attempts a server is making for one bucket of a destination. */
export interface InProgress {
  readonly destination_id: DestinationId
  readonly bucket: number
  readonly attempts: number
}

export interface ClaimOptions {
  readonly now: DateTime.Utc
  /** Until then no other server makes these attempts. */
  readonly until: DateTime.Utc
  readonly limit: number
  /** The maximum for each destination, and for each whose last attempt failed: with those in progress. */
  readonly limitOfEach: number
  readonly limitOfFailing: number
  /** The maximum for callbacks, as well: for each bucket of callers, for each destination, and for all together. */
  readonly limitOfCaller: number
  readonly limitOfCallback: number
  readonly limitOfCallbacks: number
  /** What this server is doing. */
  readonly inProgress: ReadonlyArray<InProgress>
}

/** A message in Slack. */
export interface ChatMessage {
  /** Its channel and its time stamp, such as `C0123456789/1700000000.000100`. */
  readonly id: string
  /** The message whose thread it stands in; its own ID if it stands in none. */
  readonly thread: string
}

/** What came of an attempt. */
export interface AttemptResult extends Pick<DueDelivery, "id"> {
  readonly destination_id: DestinationId
  readonly attempt: DeliveryAttempt
  /** Delivered; or failed, with the next attempt then; or failed for good. */
  readonly next: "delivered" | "failed" | { readonly next_attempt_at: DateTime.Utc }
  /** Of a failed attempt: until when its destination gets none. */
  readonly pausedUntil?: DateTime.Utc
  /** The destination has answered 410. */
  readonly isGone: boolean
  /** It failed for a reason of its run, such as a deleted issue, and says nothing about the destination. Default: false. */
  readonly isOfRun?: boolean
  /** What was written in a chat, if people can reply to it there. */
  readonly message?: ChatMessage
  /** The message has buttons, which are removed when its run no longer asks. Default: false. */
  readonly hasButtons?: boolean
}

export interface DeliveryQuery {
  readonly owner: Owner
  readonly destination_id?: DestinationId
  readonly run_id?: RunId
  /** Only of runs that belong to these teams alone (`OwnerStore`). */
  readonly owners?: ReadonlyArray<TeamName>
  readonly status?: DeliveryStatus
  readonly limit: number
  readonly cursor?: string
}

export interface DeliveryPage {
  readonly data: ReadonlyArray<EventDelivery>
  /** `null` on the last page. */
  readonly next_cursor: string | null
}

/** Of one delivery, the newest attempts that are stored. */
export const storedAttempts = 20

/** In the log of a delivery whose run the webhook had in another team: why nothing was sent. */
export const movedAttempt = (at: DateTime.Utc): DeliveryAttempt => ({
  at,
  duration_ms: 0,
  error: "the webhook was moved to another team"
})

/**
 * What is sent to destinations. The statement that ends a run also writes a delivery for each enabled destination of its
 * webhook that wants the event, and notifies with `DeliveryDue`. So no end is forgotten. `AlertStore` writes those of alerts.
 */
export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /**
     * Writes the deliveries of `run.started` for runs in work, and of `run.awaiting_approval`, and notifies; returns how many. A
     * run has one of each for each destination. Its end writes those of its start that are missing, so none is forgotten.
     */
    readonly deliverEarly: (now: DateTime.Utc) => Effect.Effect<number, Unavailable>
    /**
     * Makes deliveries due once more whose messages have buttons of runs that no longer ask, if they were written since then, and
     * notifies; returns how many. Their messages count as delivered, whatever becomes of that.
     */
    readonly endButtons: (since: DateTime.Utc, now: DateTime.Utc) => Effect.Effect<number, Unavailable>
    /**
     * Takes deliveries whose attempts are due, of each bucket of a destination the ones that are due longest. Of one whose runs
     * share a comment, a single one over all servers, so that each finds what the one before has written. Those of a
     * destination that was switched off as their run ended fail, and those of runs that the webhook had in another team.
     */
    readonly claimDeliveries: (options: ClaimOptions) => Effect.Effect<ReadonlyArray<DueDelivery>, Unavailable>
    /**
     * Records attempts. A destination that is gone is switched off, and its pending deliveries fail. One that has failed since
     * before `failingBefore` is paused, so that they are kept. Returns these destinations.
     */
    readonly recordAttempts: (
      results: ReadonlyArray<AttemptResult>,
      failingBefore: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<DestinationId>, Unavailable>
    /** These are no longer claimed: no attempt was made, or it was interrupted. */
    readonly releaseClaims: (ids: ReadonlyArray<DeliveryId>) => Effect.Effect<void, Unavailable>
    /**
     * The run of these teams that a message is about: this one, or the newest of a thread before another message there. And who
     * wrote that.
     */
    readonly runOfMessage: (
      which: Pick<ChatMessage, "id"> | { readonly before: ChatMessage },
      teams: ReadonlyArray<TeamName>
    ) => Effect.Effect<{ readonly run_id: RunId; readonly destination_id: DestinationId } | undefined, Unavailable>
    /** This thread if the destination wrote in it about the run's conversation; else that of its newest message about it. */
    readonly chatThreadOf: (
      id: DestinationId,
      run_id: RunId,
      preferred: string
    ) => Effect.Effect<string | undefined, Unavailable>
    /** Newest first. */
    readonly deliveries: (query: DeliveryQuery) => Effect.Effect<DeliveryPage, InvalidParameter | Unavailable>
    /** `owners`: as in `DeliveryQuery`. */
    readonly delivery: (
      owner: Owner,
      id: DeliveryId,
      owners?: ReadonlyArray<TeamName>
    ) => Effect.Effect<EventDelivery, NotFound | Unavailable>
    /**
     * Makes attempts of these deliveries due again, by the whole schedule, and notifies; returns how many. Those of disabled
     * destinations stay, and those of runs that the webhook had in another team. A failing destination gets the first one immediately.
     */
    readonly resend: (
      which:
        | { readonly owner: Owner; readonly id: DeliveryId }
        /** All of a destination that failed since then. */
        | {
            readonly owner: Owner
            readonly destination_id: DestinationId
            readonly failedSince: DateTime.Utc
          },
      now: DateTime.Utc
    ) => Effect.Effect<number, Unavailable>
  }
>()("webhook-trigger/DeliveryStore") {}
