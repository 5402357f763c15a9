import { DateTime, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Alert } from "../../domain/alert/Alert.ts"
import type { DeliveryAttempt } from "../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../domain/delivery/Destination.ts"
import { destinationKindNames, kindOf } from "../../domain/delivery/DestinationKind.ts"
import type { AlertId, DeliveryId, DestinationId, RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/run/Run.ts"
import { storable } from "../../domain/StorableText.ts"
import { type ColumnTypes, fromRow, list, recordset, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { runColumns, runFromRow } from "../RunColumns.ts"
import type { AttemptResult, ClaimOptions, DueDelivery } from "./DeliveryStore.ts"
import { givenUp } from "./EndButtons.ts"

/** The number of newest attempts that are stored for a delivery. */
const storedAttempts = 20

/** In the log of a delivery whose run the webhook had in another team: why nothing was sent. */
const movedAttempt = (at: DateTime.Utc): DeliveryAttempt => ({
  at,
  duration_ms: 0,
  error: "the webhook was moved to another team"
})

/** An attempt as `attempts` has it: with its time as text. */
const toStored = ({ at, ...rest }: DeliveryAttempt) => ({
  at: DateTime.formatIso(at),
  ...Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, typeof value === "string" ? storable(value) : value])
  )
})

const workingTypes: ColumnTypes = { destination_id: "uuid", bucket: "int", attempts: "int" }

const resultTypes: ColumnTypes = {
  id: "uuid",
  destination_id: "uuid",
  at: "timestamptz",
  attempt: "json",
  delivered: "boolean",
  gone: "boolean",
  of_run: "boolean",
  message: "text",
  message_thread: "text",
  has_buttons: "boolean",
  next_attempt_at: "timestamptz",
  paused_until: "timestamptz"
}

type Claimed = Record<string, unknown> & { readonly run_id: RunId | null; readonly alert_id: AlertId | null }

const sharing = destinationKindNames.filter((kind) => kindOf(kind).sharesComment).map((kind) => `'${kind}'`)

/** `DeliveryStore.claimDeliveries`, `DeliveryStore.recordAttempts` and `DeliveryStore.releaseClaims`. */
export const makeAttempts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Jumps from bucket to bucket, so that many deliveries to one do not hide those to others. */
  const withPending = sql`pending(destination_id, bucket) as (
    (
      select destination_id, bucket from webhook_trigger.deliveries where status = 'pending'
      order by destination_id, bucket limit 1
    ) union all (
      select next.destination_id, next.bucket from pending p cross join lateral (
        select d.destination_id, d.bucket from webhook_trigger.deliveries d
        where d.status = 'pending' and (d.destination_id, d.bucket) > (p.destination_id, p.bucket)
        order by d.destination_id, d.bucket limit 1
      ) as next
    )
  )`

  /** The attempts of a delivery `d`, with this one. */
  const withAttempt = (attempt: Statement.Fragment) => sql`(
    select json_agg(each.value order by each.nth) from (
      select value, nth from json_array_elements(d.attempts) with ordinality as old (value, nth)
      union all select ${attempt}::json, 1000000
      order by nth desc limit ${storedAttempts}
    ) as each
  )`

  const runsOf = Effect.fnUntraced(function* (claimed: ReadonlyArray<Claimed>) {
    const ids = new Set(claimed.flatMap(({ run_id }) => run_id ?? []))
    if (ids.size === 0) return new Map<RunId | null, Run>()
    const rows = yield* sql`
      select ${runColumns} from webhook_trigger.runs r where r.id = any(${uuids(sql, ids)})`
    return new Map<RunId | null, Run>(rows.map((row) => runFromRow(row)).map((run) => [run.run_id, run]))
  })

  const alertsOf = Effect.fnUntraced(function* (claimed: ReadonlyArray<Claimed>) {
    const ids = new Set(claimed.flatMap(({ alert_id }) => alert_id ?? []))
    if (ids.size === 0) return new Map<AlertId | null, Alert>()
    const rows = yield* sql`select * from webhook_trigger.alerts a where a.id = any(${uuids(sql, ids)})`
    const alerts = rows.map((row) => fromRow<Alert>(row, Object.keys(Alert.fields)))
    return new Map<AlertId | null, Alert>(alerts.map((alert) => [alert.id, alert]))
  })

  /**
   * Takes deliveries whose attempts are due, of each bucket of a destination the ones that are due longest. Of one whose runs
   * share a comment, a single one over all servers, so that each finds what the one before has written. Those of a
   * destination that was switched off as their run ended fail, and those of runs that the webhook had in another team.
   */
  const claimDeliveries = Effect.fn("DeliveryStore.claimDeliveries")(function* (options: ClaimOptions) {
    const { inProgress, limit, limitOfEach, limitOfFailing, now, until } = options
    const { limitOfCaller, limitOfCallback, limitOfCallbacks } = options
    const at = DateTime.toDateUtc(now)
    const claimed = yield* sql<Claimed>`
      with recursive ${withPending}, working as materialized (
        select i.* from ${recordset(sql, workingTypes, inProgress)}
      ), oldest as (
        select each.*, p.destination_id, p.bucket, t.kind in (${list(sharing)}) as is_shared, free.of_callback, free.of_callbacks
        from pending p join webhook_trigger.destinations t on t.id = p.destination_id
        cross join lateral (
          select
            case
              when p.bucket > 0 then ${limitOfCaller}::int
              when t.kind in (${list(sharing)}) then 1
              when t.failing_since is null then ${limitOfEach}::int else ${limitOfFailing}::int
            end - coalesce(sum(attempts) filter (where destination_id = t.id and working.bucket = p.bucket), 0) as of_bucket,
            ${limitOfCallback}::int - coalesce(sum(attempts) filter (where destination_id = t.id), 0) as of_callback,
            ${limitOfCallbacks}::int - coalesce(sum(attempts) filter (where working.bucket > 0), 0) as of_callbacks
          from working
        ) as free
        -- Of a shared comment, the next one: another server that has locked it must not have the one after it taken first.
        left join lateral (
          select d.next_attempt_at, d.seq from webhook_trigger.deliveries d
          where d.destination_id = t.id and d.bucket = p.bucket and d.status = 'pending' and d.next_attempt_at <= ${at}
          order by d.next_attempt_at, d.seq limit 1
        ) as head on t.kind in (${list(sharing)})
        cross join lateral (
          select d.id, d.next_attempt_at from webhook_trigger.deliveries d
          where d.destination_id = t.id and d.bucket = p.bucket and d.status = 'pending'
            and d.next_attempt_at <= coalesce(head.next_attempt_at, ${at}) and d.seq = coalesce(head.seq, d.seq)
            and (d.claimed_until is null or d.claimed_until <= ${at})
          order by d.next_attempt_at, d.seq limit greatest(0, case
            when p.bucket = 0 then free.of_bucket else least(free.of_bucket, free.of_callback, free.of_callbacks)
          end) for update skip locked
        ) as each
        where t.enabled and t.paused is not true and (t.paused_until is null or t.paused_until <= ${at})
          and not exists (select from webhook_trigger.comment_writers w where w.destination_id = t.id and w.until > ${at})
      ), of_destinations as (
        select *, row_number() over (partition by destination_id order by next_attempt_at) as nth from oldest
      ), due as materialized (
        select id, destination_id, is_shared from (
          select *, row_number() over (partition by bucket > 0 order by next_attempt_at) as nth_of_all
          from of_destinations where bucket = 0 or nth <= of_callback
        ) as each
        where bucket = 0 or nth_of_all <= of_callbacks
        order by next_attempt_at limit ${limit}
      ), moved as (
        update webhook_trigger.deliveries d set status = ${givenUp}, next_attempt_at = null, finished_at = ${at},
          attempts = ${withAttempt(sql`${JSON.stringify(toStored(movedAttempt(now)))}`)}
        from webhook_trigger.runs r, webhook_trigger.webhooks w
        where d.id = any (array(select id from due)) and r.id = d.run_id and w.id = d.webhook_id and r.team <> w.team
        returning d.id
      ), writers as (
        insert into webhook_trigger.comment_writers (destination_id, delivery_id, until)
        select destination_id, id, ${DateTime.toDateUtc(until)} from due
        where is_shared and not exists (select from moved where moved.id = due.id) order by destination_id
        on conflict (destination_id) do update set delivery_id = excluded.delivery_id, until = excluded.until
        where comment_writers.until <= ${at}
        returning delivery_id
      ), claimed as (
        update webhook_trigger.deliveries d set claimed_until = ${DateTime.toDateUtc(until)}
        from due where d.id = due.id and not exists (select from moved where moved.id = due.id)
          and (not due.is_shared or exists (select from writers where writers.delivery_id = due.id))
        returning d.id, d.run_id, d.alert_id, d.event, d.created_at, d.made, d.destination_id, d.bucket,
          case when d.buttons = 'ending' then json_build_object('id', d.message, 'thread', d.message_thread) end as written
      ), given_up as (
        update webhook_trigger.deliveries d set status = ${givenUp}, next_attempt_at = null, finished_at = ${at}
        where d.status = 'pending' and d.destination_id = any (array(
          select t.id from pending p join webhook_trigger.destinations t on t.id = p.destination_id where not t.enabled
        ))
      )
      select c.id as delivery_id, c.run_id, c.alert_id, c.event, c.created_at as at, c.made, c.bucket, c.written,
        w.name as webhook_name, t.*
      from webhook_trigger.destinations t join claimed c on c.destination_id = t.id
      left join webhook_trigger.webhooks w on w.id = t.webhook_id
      where t.id = any (array(select destination_id from claimed))`
    if (claimed.length === 0) return []
    const runs = yield* runsOf(claimed)
    const alerts = yield* alertsOf(claimed)
    return claimed.flatMap(
      ({
        alert_id,
        at,
        bucket,
        delivery_id,
        event,
        made,
        run_id,
        webhook_name,
        written,
        ...columns
      }): DueDelivery | [] => {
        const run = runs.get(run_id)
        const alert = alerts.get(alert_id)
        const destination = fromRow<DestinationRow>(columns)
        const webhook = { id: destination.webhook_id, name: webhook_name }
        const about = alert !== undefined ? { alert } : run !== undefined && { webhook, run }
        // Deleted in the meantime, with its deliveries.
        return about === false
          ? []
          : ({
              id: delivery_id,
              event,
              at: DateTime.makeUnsafe(at as Date),
              made,
              bucket,
              destination,
              ...(written !== null && { written }),
              ...about
            } as DueDelivery)
      }
    )
  }, bounded)

  /** These are no longer claimed: no attempt was made, or it was interrupted. */
  const releaseClaims = Effect.fn("DeliveryStore.releaseClaims")(function* (ids: ReadonlyArray<DeliveryId>) {
    yield* sql`
      with released as (delete from webhook_trigger.comment_writers where delivery_id = any(${uuids(sql, ids)}))
      update webhook_trigger.deliveries set claimed_until = null where id = any(${uuids(sql, ids)})`
  }, bounded)

  /**
   * Records attempts. A destination that is gone is switched off, and its pending deliveries fail. One that has failed since
   * before `failingBefore` is paused, so that they are kept. Returns these destinations.
   */
  const recordAttempts = Effect.fn("DeliveryStore.recordAttempts")(function* (
    results: ReadonlyArray<AttemptResult>,
    failingBefore: DateTime.Utc
  ) {
    const input = results.map(
      ({ attempt, destination_id, hasButtons, id, isGone, isOfRun = false, message, next, pausedUntil }) => ({
        id,
        destination_id,
        at: attempt.at,
        attempt: toStored(attempt),
        delivered: next === "delivered",
        gone: isGone,
        of_run: isOfRun,
        message: message?.id,
        message_thread: message?.thread,
        has_buttons: hasButtons,
        next_attempt_at: typeof next === "object" ? next.next_attempt_at : undefined,
        paused_until: pausedUntil
      })
    )
    const ids = uuids(
      sql,
      results.map(({ id }) => id)
    )
    const rows = yield* sql<{ readonly id: DestinationId }>`
      with results as materialized (
        select i.* from ${recordset(sql, resultTypes, input)}
      ), states as (
        select destination_id, bool_or(delivered) as delivers, bool_or(gone) as gone, min(at) as at, max(at) as last,
          max(paused_until) as paused_until
        from results where not of_run group by destination_id
      ), locked as materialized (
        select t.id, t.paused is true as was_paused from webhook_trigger.destinations t
        where t.id in (select destination_id from states) order by t.id for no key update
      ), destinations as (
        update webhook_trigger.destinations t set
          failing_since = case when s.delivers then null else coalesce(t.failing_since, s.at) end,
          paused_until = case when not s.delivers then s.paused_until end,
          enabled = t.enabled and not s.gone,
          paused = t.paused is true or (not s.gone and not s.delivers and coalesce(t.failing_since < ${DateTime.toDateUtc(failingBefore)}, false)) or null,
          disabled_reason = case
            when s.gone then 'gone'
            when not s.delivers and t.failing_since < ${DateTime.toDateUtc(failingBefore)} then 'failing'
            else t.disabled_reason
          end
        from states s join locked on locked.id = s.destination_id
        where t.id = s.destination_id and (not s.delivers or t.failing_since is not null)
        returning t.id, t.enabled, t.paused is true and not locked.was_paused as is_paused, s.last
      ), recorded as (
        update webhook_trigger.deliveries d set
          made = d.made + 1,
          attempts = ${withAttempt(sql`r.attempt`)},
          claimed_until = null,
          message = coalesce(r.message, d.message),
          message_thread = coalesce(r.message_thread, d.message_thread),
          buttons = case when r.has_buttons then 'shown' when not r.delivered then d.buttons end,
          status = case
            when r.delivered then 'delivered'
            when r.next_attempt_at is null or not coalesce(t.enabled, true) then ${givenUp}
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
      ), written as (
        delete from webhook_trigger.comment_writers where delivery_id = any(${ids})
      ), given_up as (
        update webhook_trigger.deliveries d set status = ${givenUp}, next_attempt_at = null, finished_at = t.last
        from destinations t
        where not t.enabled and d.destination_id = t.id and d.status = 'pending' and d.id <> all(${ids})
      )
      select id from destinations where not enabled or is_paused`
    return rows.map(({ id }) => id)
  }, bounded)

  return { claimDeliveries, recordAttempts, releaseClaims }
})
