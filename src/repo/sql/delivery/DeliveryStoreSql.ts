import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect, Layer, Option } from "effect"
import type { DeliveryAttempt, EventDelivery } from "../../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../../domain/delivery/Destination.ts"
import { NotFound } from "../../../domain/Errors.ts"
import type { DeliveryId, DestinationId, WebhookId } from "../../../domain/Id.ts"
import { storable } from "../../../domain/StorableText.ts"
import {
  type AttemptResult,
  type ClaimOptions,
  type DeliveryQuery,
  DeliveryStore,
  type DueDelivery,
  storedAttempts
} from "../../delivery/DeliveryStore.ts"
import { decodeCursor, encodeCursor } from "../../history/Cursor.ts"
import { type ColumnTypes, fromRow, recordset, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

const columns = `d.id, d.destination_id, d.webhook_id, d.run_id, d.event, d.status, d.created_at, d.next_attempt_at,
  d.finished_at, d.attempts, d.seq::float8 as seq`

/** An attempt as `attempts` has it: with its time as text. */
const toStored = ({ at, ...rest }: DeliveryAttempt) => ({
  at: DateTime.formatIso(at),
  ...Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, typeof value === "string" ? storable(value) : value])
  )
})

type StoredAttempt = Omit<DeliveryAttempt, "at"> & { readonly at: string }

const fromStored = (row: object): EventDelivery => {
  const { attempts, ...delivery } = fromRow<
    Omit<EventDelivery, "attempts"> & { readonly attempts: ReadonlyArray<StoredAttempt>; readonly seq?: number }
  >(row)
  const { seq: _, ...shown } = delivery
  return { ...shown, attempts: attempts.map(({ at, ...rest }) => ({ ...rest, at: DateTime.unsafeMake(at) })) }
}

const resultTypes: ColumnTypes = {
  id: "uuid",
  destination_id: "uuid",
  at: "timestamptz",
  attempt: "json",
  delivered: "boolean",
  gone: "boolean",
  next_attempt_at: "timestamptz"
}

export const layer: Layer.Layer<DeliveryStore, never, SqlClient.SqlClient> = Layer.effect(
  DeliveryStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const claimDeliveries = Effect.fn("DeliveryStore.claimDeliveries")(function* (options: ClaimOptions) {
      const { except, limit, limitOfEach, limitOfFailing, now, until } = options
      const at = DateTime.toDateUtc(now)
      const rows = yield* sql<Record<string, unknown>>`
        with due as materialized (
          select oldest.id from webhook_trigger.destinations t cross join lateral (
            select d.id, d.next_attempt_at from webhook_trigger.deliveries d
            where d.destination_id = t.id and d.status = 'pending' and d.next_attempt_at <= ${at}
              and (d.claimed_until is null or d.claimed_until <= ${at})
            order by d.next_attempt_at limit (case when t.failing_since is null then ${limitOfEach}::int else ${limitOfFailing}::int end) for update skip locked
          ) as oldest
          where t.enabled and t.id <> all(${uuids(sql, except)})
          order by oldest.next_attempt_at limit ${limit}
        ), claimed as (
          update webhook_trigger.deliveries d set claimed_until = ${DateTime.toDateUtc(until)}
          from due where d.id = due.id
          returning d.id, d.run_id, d.event, d.made, d.destination_id
        )
        select c.id as delivery_id, c.run_id, c.event, c.made, t.*
        from claimed c join webhook_trigger.destinations t on t.id = c.destination_id`
      return rows.map(({ delivery_id, event, made, run_id, ...destination }) => ({
        ...({ id: delivery_id, run_id, event, made } as Omit<DueDelivery, "destination">),
        destination: fromRow<DestinationRow>(destination)
      }))
    }, bounded)

    const recordAttempts = Effect.fn("DeliveryStore.recordAttempts")(function* (
      results: ReadonlyArray<AttemptResult>,
      failingBefore: DateTime.Utc
    ) {
      const input = results.map(({ attempt, destination_id, id, isGone, next }) => ({
        id,
        destination_id,
        at: attempt.at,
        attempt: toStored(attempt),
        delivered: next === "delivered",
        gone: isGone,
        next_attempt_at: typeof next === "object" ? next.next_attempt_at : undefined
      }))
      const rows = yield* sql<{ readonly id: DestinationId }>`
        with results as materialized (
          select i.* from ${recordset(sql, resultTypes, input)}
        ), states as (
          select destination_id, bool_or(delivered) as delivers, bool_or(gone) as gone, min(at) as at, max(at) as last
          from results group by destination_id
        ), destinations as (
          update webhook_trigger.destinations t set
            failing_since = case when s.delivers then null else coalesce(t.failing_since, s.at) end,
            enabled = t.enabled and not s.gone
              and (s.delivers or coalesce(t.failing_since >= ${DateTime.toDateUtc(failingBefore)}, true)),
            disabled_reason = case
              when s.gone then 'gone'
              when not s.delivers and t.failing_since < ${DateTime.toDateUtc(failingBefore)} then 'failing'
              else t.disabled_reason
            end
          from states s where t.id = s.destination_id and (not s.delivers or t.failing_since is not null)
          returning t.id, t.enabled, s.last
        ), recorded as (
          update webhook_trigger.deliveries d set
            made = d.made + 1,
            attempts = (
              select json_agg(each.value order by each.nth) from (
                select value, nth from json_array_elements(d.attempts) with ordinality as old (value, nth)
                union all select r.attempt::json, 1000000
                order by nth desc limit ${storedAttempts}
              ) as each
            ),
            claimed_until = null,
            status = case
              when r.delivered then 'delivered'
              when r.next_attempt_at is null or not coalesce(t.enabled, true) then 'failed'
              else 'pending'
            end,
            next_attempt_at = case
              when not r.delivered and coalesce(t.enabled, true) then r.next_attempt_at
            end,
            finished_at = case
              when r.delivered or r.next_attempt_at is null or not coalesce(t.enabled, true) then r.at
            end
          from results r left join destinations t on t.id = r.destination_id
          where d.id = r.id and d.status = 'pending'
        ), given_up as (
          update webhook_trigger.deliveries d set status = 'failed', next_attempt_at = null, finished_at = t.last
          from destinations t
          where not t.enabled and d.destination_id = t.id and d.status = 'pending'
            and d.id <> all(${uuids(
              sql,
              results.map(({ id }) => id)
            )})
        )
        select id from destinations where not enabled`
      return rows.map(({ id }) => id)
    }, bounded)

    const deliveries = Effect.fn("DeliveryStore.deliveries")(function* (query: DeliveryQuery) {
      const { cursor, destination_id, limit, run_id, status, webhook_id } = query
      const before = yield* decodeCursor(cursor)
      const conditions: Array<Statement.Fragment> = [sql`d.webhook_id = ${webhook_id}`]
      if (destination_id !== undefined) conditions.push(sql`d.destination_id = ${destination_id}`)
      if (run_id !== undefined) conditions.push(sql`d.run_id = ${run_id}`)
      if (status !== undefined) conditions.push(sql`d.status = ${status}`)
      if (Option.isSome(before)) conditions.push(sql`d.seq < ${before.value}`)
      const rows = yield* sql<{ readonly seq: number }>`
        select ${sql.literal(columns)} from webhook_trigger.deliveries d
        where ${sql.and(conditions)} order by d.seq desc limit ${limit + 1}`
      const page = rows.slice(0, limit)
      return {
        data: page.map(fromStored),
        next_cursor: rows.length > limit ? encodeCursor(page.at(-1)!.seq) : null
      }
    }, bounded)

    const delivery = Effect.fn("DeliveryStore.delivery")(function* (webhook_id: WebhookId, id: DeliveryId) {
      const [row] = yield* sql`
        select ${sql.literal(columns)} from webhook_trigger.deliveries d
        where d.id = ${id} and d.webhook_id = ${webhook_id}`
      return row ? fromStored(row) : yield* new NotFound()
    }, bounded)

    const resend = Effect.fn("DeliveryStore.resend")(function* (
      which: Parameters<DeliveryStore["Type"]["resend"]>[0],
      now: DateTime.Utc
    ) {
      const wanted =
        "id" in which
          ? sql`d.id = ${which.id}`
          : sql`d.destination_id = ${which.destination_id} and d.status = 'failed'
              and d.finished_at >= ${DateTime.toDateUtc(which.failedSince)}`
      const rows = yield* sql`
        update webhook_trigger.deliveries d set
          status = 'pending', made = 0, next_attempt_at = ${DateTime.toDateUtc(now)}, finished_at = null
        from webhook_trigger.destinations t
        where ${wanted} and d.webhook_id = ${which.webhook_id} and t.id = d.destination_id and t.enabled
        returning d.id`
      return rows.length
    }, bounded)

    return DeliveryStore.of({ claimDeliveries, recordAttempts, deliveries, delivery, resend })
  })
)
