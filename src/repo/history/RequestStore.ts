import { Context, type DateTime, type Effect } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { ReceivedRequest, RequestKind } from "../../domain/request/ReceivedRequest.ts"
import type { TeamName } from "../../domain/Team.ts"

/** How many requests of a webhook were ignored in a period that begins then. */
export interface IgnoredCount {
  readonly webhook_id: WebhookId
  readonly begins_at: DateTime.Utc
  readonly count: number
}

/** Requests as they came, for people to read: the newest few of each webhook. */
export class RequestStore extends Context.Service<
  RequestStore,
  {
    /** Leaves out requests of deleted webhooks. Per webhook, keeps the newest of each kind. */
    readonly recordRequests: (
      requests: ReadonlyArray<ReceivedRequest>,
      keep: { readonly [Kind in RequestKind]: number }
    ) => Effect.Effect<void, Unavailable>
    /**
     * A webhook's requests since then, newest first, without headers and query, and with this many characters of a
     * body; only those that came while it was in one of the teams `owners`, if given.
     */
    readonly requests: (
      id: WebhookId,
      since: DateTime.Utc,
      options: {
        readonly kinds: ReadonlyArray<RequestKind>
        readonly shown: number
        readonly owners?: ReadonlyArray<TeamName>
      }
    ) => Effect.Effect<ReadonlyArray<ReceivedRequest>, Unavailable>
    /** One of them, in full. */
    readonly request: (
      id: WebhookId,
      request_id: string,
      owners?: ReadonlyArray<TeamName>
    ) => Effect.Effect<ReceivedRequest, NotFound | Unavailable>
    /** Adds to the counts of ignored requests. Leaves out deleted webhooks. At most one of each webhook and period. */
    readonly countIgnored: (counts: ReadonlyArray<IgnoredCount>) => Effect.Effect<void, Unavailable>
    /** The number of a webhook's ignored requests, in the periods that began since then. */
    readonly ignored: (id: WebhookId, since: DateTime.Utc) => Effect.Effect<number, Unavailable>
    /** Removes all requests and counts from before that time. */
    readonly forgetRequests: (before: DateTime.Utc) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/RequestStore") {}
