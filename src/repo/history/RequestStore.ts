import { Context, type DateTime, type Effect } from "effect"
import type { NotFound, Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { ReceivedRequest } from "../../domain/request/ReceivedRequest.ts"

/** Requests as they came, for people to read: the newest few of each webhook. */
export class RequestStore extends Context.Tag("webhook-trigger/RequestStore")<
  RequestStore,
  {
    /** Leaves out requests of deleted webhooks. Per webhook, keeps the newest of each kind. */
    readonly recordRequests: (
      requests: ReadonlyArray<ReceivedRequest>,
      keep: { readonly refused: number; readonly accepted: number }
    ) => Effect.Effect<void, Unavailable>
    /**
     * A webhook's requests since then, newest first, without headers and query, and with this many characters of a
     * body. Accepted ones only on request.
     */
    readonly requests: (
      id: WebhookId,
      since: DateTime.Utc,
      options: { readonly accepted: boolean; readonly shown: number }
    ) => Effect.Effect<ReadonlyArray<ReceivedRequest>, Unavailable>
    /** One of a webhook's requests, in full. */
    readonly request: (id: WebhookId, request_id: string) => Effect.Effect<ReceivedRequest, NotFound | Unavailable>
    /** Removes all requests from before that time. */
    readonly forgetRequests: (before: DateTime.Utc) => Effect.Effect<void, Unavailable>
  }
>() {}
