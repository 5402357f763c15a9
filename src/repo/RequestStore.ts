import { Context, type DateTime, type Effect } from "effect"
import type { NotFound, Unavailable } from "../domain/Errors.ts"
import type { WebhookId } from "../domain/Id.ts"
import type { ReceivedRequest } from "../domain/request/ReceivedRequest.ts"

/** Requests as they came, for the eyes of people: of each webhook the newest few. */
export class RequestStore extends Context.Tag("webhook-trigger/RequestStore")<
  RequestStore,
  {
    /** Those of webhooks that are gone are left out, and of each webhook those behind the newest of either kind. */
    readonly recordRequests: (
      requests: ReadonlyArray<ReceivedRequest>,
      keep: { readonly refused: number; readonly accepted: number }
    ) => Effect.Effect<void, Unavailable>
    /**
     * A webhook's requests since then, newest first, without headers and query, and with no more of a body than so many
     * characters; the accepted ones only when they are asked for.
     */
    readonly requests: (
      id: WebhookId,
      since: DateTime.Utc,
      options: { readonly accepted: boolean; readonly shown: number }
    ) => Effect.Effect<ReadonlyArray<ReceivedRequest>, Unavailable>
    /** One of a webhook's requests, in full. */
    readonly request: (id: WebhookId, request_id: string) => Effect.Effect<ReceivedRequest, NotFound | Unavailable>
    /** Removes all from before that. */
    readonly forgetRequests: (before: DateTime.Utc) => Effect.Effect<void, Unavailable>
  }
>() {}
