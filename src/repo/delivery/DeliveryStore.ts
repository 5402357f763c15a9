import { Context, DateTime, Effect, Layer, Option } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Alert } from "../../domain/alert/Alert.ts"
import type { DeliveryAttempt, DeliveryStatus, EventDelivery } from "../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import type { AlertEvent, DestinationRunEvent } from "../../domain/delivery/DestinationEvent.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { DeliveryId, DestinationId, RunId, WebhookId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import { isRunOf } from "../access/Ownership.ts"
import { notify } from "../Changes.ts"
import { fromRow } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { decodeCursor, encodeCursor } from "../history/Cursor.ts"
import { makeAttempts } from "./Attempts.ts"
import type { Owner } from "./DestinationStore.ts"
import { makeDeliverEarly } from "./EarlyEvents.ts"
import { makeEndButtons } from "./EndButtons.ts"

/** The subject of a delivery: the start or the end of a run, or an alert. */
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
  /** The deliveries that this server is making. */
  readonly inProgress: ReadonlyArray<InProgress>
}

/** A message in Slack. */
export interface ChatMessage {
  /** Its channel and its time stamp, such as `C0123456789/1700000000.000100`. */
  readonly id: string
  /** The message whose thread it stands in; its own ID if it stands in none. */
  readonly thread: string
}

/** The result of an attempt. */
export interface AttemptResult extends Pick<DueDelivery, "id"> {
  readonly destination_id: DestinationId
  readonly attempt: DeliveryAttempt
  /** Delivered; or failed, with the next attempt then; or failed for good. */
  readonly next: "delivered" | "failed" | { readonly next_attempt_at: DateTime.Utc }
  /** For a failed attempt: until when its destination gets none. */
  readonly pausedUntil?: DateTime.Utc
  /** The destination has answered 410. */
  readonly isGone: boolean
  /** It failed for a reason of its run, such as a deleted issue, and says nothing about the destination. Default: false. */
  readonly isOfRun?: boolean
  /** The message that was written in a chat, if people can reply to it there. */
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

/**
 * Deliveries to destinations. The statement that ends a run also writes a delivery for each enabled destination of its
 * webhook that wants the event, and notifies with `DeliveryDue`. So no end is forgotten. `AlertStore` writes those of alerts.
 */
export class DeliveryStore extends Context.Service<DeliveryStore>()("webhook-trigger/DeliveryStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const isOf = (owner: Owner) => (owner === null ? sql`d.webhook_id is null` : sql`d.webhook_id = ${owner}`)

    const isRunOfTeams = (owners: DeliveryQuery["owners"]) =>
      owners === undefined
        ? sql`true`
        : sql`(d.run_id is null or exists (
            select from webhook_trigger.runs r where r.id = d.run_id and ${isRunOf(sql, "r", owners)}
          ))`

    /** The time of a chat message. */
    const timeOf = (id: Statement.Fragment) => sql`split_part(${id}, '/', 2)::numeric`

    /**
     * The run of these teams that a message is about: this one, or the newest of a thread before another message there. And who
     * wrote that.
     */
    const runOfMessage = Effect.fn("DeliveryStore.runOfMessage")(function* (
      which: Pick<ChatMessage, "id"> | { readonly before: ChatMessage },
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

    /** This thread if the destination wrote in it about the run's conversation; else that of its newest message about it. */
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

    /** Newest first. */
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
      } satisfies DeliveryPage
    }, bounded)

    /** `owners`: as in `DeliveryQuery`. */
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

    /**
     * Makes attempts of these deliveries due again, by the whole schedule, and notifies; returns how many. Those of disabled
     * destinations stay, and those of runs that the webhook had in another team. A failing destination gets the first one immediately.
     */
    const resend = Effect.fn("DeliveryStore.resend")(function* (
      which:
        | { readonly owner: Owner; readonly id: DeliveryId }
        /** All of a destination that failed since then. */
        | { readonly owner: Owner; readonly destination_id: DestinationId; readonly failedSince: DateTime.Utc },
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

    return {
      ...(yield* makeAttempts),
      deliverEarly: yield* makeDeliverEarly,
      endButtons: yield* makeEndButtons,
      runOfMessage,
      chatThreadOf,
      deliveries,
      delivery,
      resend
    }
  })
}) {
  static readonly layer = Layer.effect(DeliveryStore, DeliveryStore.make)
}
