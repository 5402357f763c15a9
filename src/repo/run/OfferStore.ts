import { Context, type DateTime, type Effect } from "effect"
import type { Unavailable } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"

/** A request that a webhook refused for a moment, and that came to the URL of another one. */
export interface Offer {
  /** A UUIDv7. Those of a webhook are made in this order. */
  readonly id: string
  readonly webhook_id: WebhookId
  /** The webhook with the URL. */
  readonly shares: WebhookId
  /** The team that the webhook had when the request came. */
  readonly team: TeamName
  /** As the text of whatever makes the offer. */
  readonly request: string
  /** How often it was made. */
  readonly tries: number
  readonly due_at: DateTime.Utc
  /** It is not made after that. */
  readonly until: DateTime.Utc
}

/** The most offers of a webhook, and UTF-16 code units in their requests. */
export interface OfferLimits {
  readonly offers: number
  readonly length: number
}

/** Requests that are offered to webhooks again. Those of a deleted webhook are gone. */
export class OfferStore extends Context.Service<
  OfferStore,
  {
    /** Returns whether each is kept: its webhook exists, and has not as many as the limits allow. One with a known ID is due anew. */
    readonly keepOffers: (
      offers: ReadonlyArray<Offer>,
      limits: OfferLimits
    ) => Effect.Effect<ReadonlyArray<boolean>, Unavailable>
    /** Some webhooks with offers that are due, except these. */
    readonly webhooksWithOffers: (
      now: DateTime.Utc,
      options: { readonly limit: number; readonly except: ReadonlyArray<WebhookId> }
    ) => Effect.Effect<ReadonlyArray<WebhookId>, Unavailable>
    /** The webhook's first offer that is due. */
    readonly nextOffer: (id: WebhookId, now: DateTime.Utc) => Effect.Effect<Offer | undefined, Unavailable>
    /** It was made in vain, and is due again then. `delaysOthers`: the webhook's other offers are not due before that, either. */
    readonly delayOffer: (
      offer: Pick<Offer, "id" | "webhook_id">,
      due_at: DateTime.Utc,
      options: { readonly delaysOthers: boolean }
    ) => Effect.Effect<void, Unavailable>
    readonly removeOffer: (id: string) => Effect.Effect<void, Unavailable>
  }
>()("webhook-trigger/OfferStore") {}
