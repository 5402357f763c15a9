import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { WebhookId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { type ColumnTypes, fromRow, list, recordset, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

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
interface OfferLimits {
  readonly offers: number
  readonly length: number
}

const types = {
  id: "uuid",
  webhook_id: "uuid",
  shares: "uuid",
  team: "text",
  request: "text",
  tries: "integer",
  due_at: "timestamptz",
  until: "timestamptz"
} as const satisfies { readonly [Field in keyof Offer]: string } & ColumnTypes

const names = Object.keys(types)

/** Requests that are offered to webhooks again. Those of a deleted webhook are gone. */
export class OfferStore extends Context.Service<OfferStore>()("webhook-trigger/OfferStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** Returns whether each is kept: its webhook exists, and has not as many as the limits allow. One with a known ID is due anew. */
    const keepOffers = Effect.fn("OfferStore.keepOffers")(function* (
      offers: ReadonlyArray<Offer>,
      { length, offers: most }: OfferLimits
    ) {
      const byId = new Map(offers.map((offer) => [offer.id, offer]))
      const webhooks = uuids(
        sql,
        offers.map(({ webhook_id }) => webhook_id)
      )
      // The lock keeps a webhook from being deleted in between, which would make the insert fail.
      const rows = yield* sql<{ readonly id: string }>`
        with known as materialized (
          select id from webhook_trigger.webhooks where id = any (${webhooks}) order by id for key share
        ), input as (
          select i.*, char_length(i.request) as length from ${recordset(sql, types, [...byId.values()])}
        ), placed as (
          select i.*, count(*) over own + k.offers as place, sum(i.length) over own + k.length as filled
          from input i, lateral (
            select count(*) as offers, coalesce(sum(o.length), 0) as length
            from webhook_trigger.offers o where o.webhook_id = i.webhook_id
          ) k
          where i.webhook_id in (select id from known)
          window own as (partition by i.webhook_id order by i.id)
        )
        insert into webhook_trigger.offers (${list(names)}, length)
        select ${list(names)}, length from placed where place <= ${most}::int and filled <= ${length}::bigint
        on conflict (id) do update set tries = excluded.tries, due_at = excluded.due_at
        returning id`
      const kept = new Set(rows.map(({ id }) => id))
      return offers.map(({ id }) => kept.has(id))
    }, bounded)

    /** Some webhooks with offers that are due, except these. */
    const webhooksWithOffers = Effect.fn("OfferStore.webhooksWithOffers")(function* (
      now: DateTime.Utc,
      { except, limit }: { readonly limit: number; readonly except: ReadonlyArray<WebhookId> }
    ) {
      const rows = yield* sql<{ readonly webhook_id: WebhookId }>`
        select o.webhook_id from webhook_trigger.offers o
        where o.due_at <= ${DateTime.toDateUtc(now)} and o.webhook_id <> all (${uuids(sql, except)})
        group by o.webhook_id order by min(o.due_at) limit ${limit}::int`
      return rows.map(({ webhook_id }) => webhook_id)
    }, bounded)

    /** The webhook's first offer that is due. */
    const nextOffer = Effect.fn("OfferStore.nextOffer")(function* (id: WebhookId, now: DateTime.Utc) {
      const [row] = yield* sql`
        select ${list(names)} from webhook_trigger.offers
        where webhook_id = ${id} and due_at <= ${DateTime.toDateUtc(now)} order by id limit 1`
      return row && fromRow<Offer>(row)
    }, bounded)

    /** It was made in vain, and is due again then. `delaysOthers`: the webhook's other offers are not due before that, either. */
    const delayOffer = Effect.fn("OfferStore.delayOffer")(function* (
      { id, webhook_id }: Pick<Offer, "id" | "webhook_id">,
      due_at: DateTime.Utc,
      { delaysOthers }: { readonly delaysOthers: boolean }
    ) {
      const at = DateTime.toDateUtc(due_at)
      yield* sql`
        update webhook_trigger.offers set due_at = ${at}, tries = case when id = ${id} then tries + 1 else tries end
        where webhook_id = ${webhook_id} and (id = ${id} or ${delaysOthers} and due_at < ${at})`
    }, bounded)

    const removeOffer = Effect.fn("OfferStore.removeOffer")(
      (id: string) => Effect.asVoid(sql`delete from webhook_trigger.offers where id = ${id}`),
      bounded
    )

    return { keepOffers, webhooksWithOffers, nextOffer, delayOffer, removeOffer }
  })
}) {
  static readonly layer = Layer.effect(OfferStore, OfferStore.make)
}
