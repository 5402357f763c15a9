import { DateTime, Effect, Layer, Option } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { DeliveryAttempt, EventDelivery } from "../../domain/delivery/Delivery.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { DeliveryId, DestinationId, RunId } from "../../domain/Id.ts"
import type { TeamName } from "../../domain/Team.ts"
import { isRunOf } from "../access/Ownership.ts"
import { notify } from "../Changes.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { decodeCursor, encodeCursor } from "../history/Cursor.ts"
import { makeAttempts } from "./Attempts.ts"
import { type DeliveryQuery, DeliveryStore } from "./DeliveryStore.ts"
import type { Owner } from "./DestinationStore.ts"
import { makeDeliverEarly } from "./EarlyEvents.ts"
import { makeEndButtons } from "./EndButtons.ts"

const columns = `d.id, d.destination_id, d.webhook_id, d.run_id, d.alert_id, d.event, d.status, d.created_at, d.next_attempt_at,
  d.finished_at, d.attempts, d.seq::float8 as seq`

type StoredAttempt = Omit<DeliveryAttempt, "at"> & { readonly at: string }

const fromStored = (row: object): EventDelivery => {
  const { attempts, ...delivery } = fromRow<
    Omit<EventDelivery, "attempts"> & { readonly attempts: ReadonlyArray<StoredAttempt>; readonly seq?: number }
  >(row)
  const { seq: _, ...shown } = delivery
  return { ...shown, attempts: attempts.map(({ at, ...rest }) => ({ ...rest, at: DateTime.makeUnsafe(at) })) }
}

export const layer: Layer.Layer<DeliveryStore, never, SqlClient.SqlClient> = Layer.effect(
  DeliveryStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const isOf = (owner: Owner) => (owner === null ? sql`d.webhook_id is null` : sql`d.webhook_id = ${owner}`)

    const isRunOfTeams = (owners: DeliveryQuery["owners"]) =>
      owners === undefined
        ? sql`true`
        : sql`(d.run_id is null or exists (
            select from webhook_trigger.runs r where r.id = d.run_id and ${isRunOf(sql, "r", owners)}
          ))`

    const attempts = yield* makeAttempts
    const deliverEarly = yield* makeDeliverEarly
    const endButtons = yield* makeEndButtons

    /** Of a chat message. */
    const timeOf = (id: Statement.Fragment) => sql`split_part(${id}, '/', 2)::numeric`

    const runOfMessage = Effect.fn("DeliveryStore.runOfMessage")(function* (
      which: Parameters<DeliveryStore["Service"]["runOfMessage"]>[0],
      teams: ReadonlyArray<TeamName>
    ) {
      const is =
        "id" in which
          ? sql`d.message = ${which.id}`
          : sql`d.message_thread = ${which.before.thread} and ${timeOf(sql`d.message`)} < ${timeOf(sql`${which.before.id}::text`)}`
      const [row] = yield* sql<{ readonly run_id: RunId; readonly destination_id: DestinationId }>`
        select d.run_id, d.destination_id from webhook_trigger.deliveries d join webhook_trigger.runs r on r.id = d.run_id
        where ${is} and r.team in (select json_array_elements_text(${JSON.stringify(teams)}::json))
        order by d.seq desc limit 1`
      return row
    }, bounded)

    const chatThreadOf = Effect.fn("DeliveryStore.chatThreadOf")(function* (
      id: DestinationId,
      run_id: RunId,
      preferred: string
    ) {
      const [row] = yield* sql<{ readonly message_thread: string }>`
        select d.message_thread from webhook_trigger.runs own
        join webhook_trigger.runs r on r.thread_id = own.thread_id
        join webhook_trigger.deliveries d on d.run_id = r.id
        where own.id = ${run_id} and d.destination_id = ${id} and d.message_thread is not null
        order by d.message_thread = ${preferred} desc, d.seq desc limit 1`
      return row?.message_thread
    }, bounded)

    const deliveries = Effect.fn("DeliveryStore.deliveries")(function* (query: DeliveryQuery) {
      const { cursor, destination_id, limit, owner, owners, run_id, status } = query
      const before = yield* decodeCursor(cursor)
      const conditions: Array<Statement.Fragment> = [isOf(owner), isRunOfTeams(owners)]
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

    const delivery = Effect.fn("DeliveryStore.delivery")(function* (
      owner: Owner,
      id: DeliveryId,
      owners?: DeliveryQuery["owners"]
    ) {
      const [row] = yield* sql`
        select ${sql.literal(columns)} from webhook_trigger.deliveries d
        where d.id = ${id} and ${isOf(owner)} and ${isRunOfTeams(owners)}`
      return row ? fromStored(row) : yield* new NotFound()
    }, bounded)

    const resend = Effect.fn("DeliveryStore.resend")(function* (
      which: Parameters<DeliveryStore["Service"]["resend"]>[0],
      now: DateTime.Utc
    ) {
      const wanted =
        "id" in which
          ? sql`d.id = ${which.id}`
          : sql`d.destination_id = ${which.destination_id} and d.status = 'failed'
              and d.finished_at >= ${DateTime.toDateUtc(which.failedSince)}`
      const rows = yield* sql`
        with wanted as materialized (
          select d.id, d.destination_id from webhook_trigger.deliveries d
          where ${wanted} and ${isOf(which.owner)} and (d.run_id is null or exists (
            select from webhook_trigger.runs r join webhook_trigger.webhooks w on w.id = r.webhook_id
            where r.id = d.run_id and r.team = w.team
          ))
        ), destination as (
          update webhook_trigger.destinations t set paused_until = null
          where t.enabled and t.id in (select destination_id from wanted) returning t.id
        ), due as (
          update webhook_trigger.deliveries d set
            status = 'pending', made = 0, next_attempt_at = ${DateTime.toDateUtc(now)}, finished_at = null, buttons = null
          from wanted join destination on destination.id = wanted.destination_id where d.id = wanted.id
          returning d.id
        ), ${notify(sql, "DeliveryDue", sql`select '' as name from due limit 1`)}
        select due.id from due, (select count(*) from notified) as done`
      return rows.length
    }, bounded)

    return DeliveryStore.of({
      ...attempts,
      deliverEarly,
      endButtons,
      runOfMessage,
      chatThreadOf,
      deliveries,
      delivery,
      resend
    })
  })
)
