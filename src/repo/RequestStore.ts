import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../domain/Errors.ts"
import type { WebhookId } from "../domain/Id.ts"
import type { ReceivedRequest } from "../domain/ReceivedRequest.ts"

/** Requests as they came, for the eyes of people: of each webhook the newest few. */
export class RequestStore extends Context.Tag("webhook-trigger/RequestStore")<
  RequestStore,
  {
    /** Those of webhooks that are gone are left out, and of each webhook those behind the newest `keep`. */
    readonly recordRequests: (
      requests: ReadonlyArray<ReceivedRequest>,
      keep: number
    ) => Effect.Effect<void, Unavailable>
    /** A webhook's requests since then, newest first. */
    readonly requests: (
      id: WebhookId,
      since: DateTime.Utc
    ) => Effect.Effect<ReadonlyArray<ReceivedRequest>, Unavailable>
    /** Removes all from before that. */
    readonly forgetRequests: (before: DateTime.Utc) => Effect.Effect<void, Unavailable>
  }
>() {}
