/** Runs that are held: they wait for something, without a place in their lane. */
import { DateTime, Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { Unavailable } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import * as Json from "../../domain/Json.ts"
import { storable } from "../../domain/StorableText.ts"
import { notify } from "../Changes.ts"
import { fromRow, uuids } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { approvalTime } from "../RunColumns.ts"
import { latest } from "./Coalesce.ts"
import type { CombinedRun, PlacedRun } from "./LaneStore.ts"

/** A place in a lane, behind every place given before. */
export const nextPlace = (sql: SqlClient.SqlClient): Statement.Fragment => sql`nextval('webhook_trigger.runs_seq_seq')`

/** Assignments of a run `r` whose hold has ended. It takes this place in its lane, or waits for its approval now. */
const letGo = (sql: SqlClient.SqlClient, place: Statement.Fragment) => sql`
  place = case when r.needs_approval then null else ${place} end,
  held_for = case when r.needs_approval then 'approval' end,
  held_until = case when r.needs_approval then r.held_until + ${approvalTime} end`

/** How many holds one statement ends, and how many keys it forgets. */
const portion = 1000

/**
 * `LaneStore.endHolds`, which also forgets expired keys. A trigger that joins a run locks the window: it either
 * commits before the window is closed, or does not find it. Locks are taken in the same order as when joining and
 * deleting. A window with a template is closed, but its run has no place before `LaneStore.placeCombined`.
 *
 * After an outage, there may be more holds than one statement can end in its time. Those that end at the same moment are
 * ended together, so that their runs keep their order.
 */
const makeEndHolds = Effect.map(SqlClient.SqlClient, (sql) => {
  const endSome = (now: DateTime.Utc) => {
    const time = sql`${DateTime.toDateUtc(now)}::timestamptz`
    return bounded(sql<{ readonly most: number; readonly combined: boolean }>`
      with free as materialized (
        select webhook_id, idempotency_key from webhook_trigger.window_deliveries where expires_at <= ${time}
        order by expires_at limit ${portion}
      ), forgotten as (
        delete from webhook_trigger.window_deliveries d using free
        where (d.webhook_id, d.idempotency_key) = (free.webhook_id, free.idempotency_key) and d.expires_at <= ${time}
      ), old_event as materialized (
        select webhook_id, idempotency_key from webhook_trigger.cancel_events where expires_at <= ${time}
        order by expires_at limit ${portion} for update skip locked
      ), forgotten_event as (
        delete from webhook_trigger.cancel_events e using old_event o
        where (e.webhook_id, e.idempotency_key) = (o.webhook_id, o.idempotency_key)
      ), due as materialized (
        (
          select run_id, webhook_id from webhook_trigger.windows where until <= ${time} and not closed
          order by until fetch first ${portion} rows with ties
        ) union all (
          select r.id, r.webhook_id from webhook_trigger.runs r where r.held_for = 'time' and r.held_until <= ${time}
          order by r.held_until fetch first ${portion} rows with ties
        )
      ), hook as materialized (
        select w.id from webhook_trigger.webhooks w where w.id in (select webhook_id from due)
        order by w.id for key share
      ), over as materialized (
        select w.run_id, w.template is not null as combines from webhook_trigger.windows w
        where w.run_id in (select run_id from due) and w.webhook_id in (select id from hook)
          and w.until <= ${time} and not w.closed
        order by w.webhook_id, w.team, w.key for update
      ), closed as (
        update webhook_trigger.windows w set closed = true from over where w.run_id = over.run_id and over.combines
      ), removed as (
        delete from webhook_trigger.windows w using over where w.run_id = over.run_id and not over.combines
      ), locked as materialized (
        select r.id, r.seq, r.held_until from webhook_trigger.runs r
        where r.id in (select run_id from due) and r.webhook_id in (select id from hook) and r.held_until <= ${time} and case
          when r.held_for = 'window' then r.id in (select run_id from over where not combines)
          else r.held_for = 'time'
        end
        order by r.id for no key update of r
      ), next as materialized (
        select id, ${nextPlace(sql)} as place from (select l.id from locked l order by l.held_until, l.seq) as in_order
      ), placed as (
        update webhook_trigger.runs r set ${letGo(sql, sql`next.place`)} from next where r.id = next.id
        returning r.id
      ), ${notify(sql, "RunChanged", sql`select id::text as name from placed`)}
      select greatest(
          (select count(*) from due), (select count(*) from free), (select count(*) from old_event)
        )::int as most, count(*),
        exists (select from over where combines) or exists (select from webhook_trigger.windows where closed) as combined
      from notified`)
  }
  /**
   * Lets go of the runs that were held until `now`, in a window or for a time. From then on, no trigger joins them. They take
   * their places behind every run accepted before this call began, before every run whose acceptance begins after it, and
   * in the order in which their holds ended; or wait for their approval. Those of `combinedRuns` do so later, by
   * `placeCombined`; returns whether there are any.
   */
  const endHolds = (now: DateTime.Utc): Effect.Effect<boolean, Unavailable> =>
    Effect.flatMap(endSome(now), ([row]) => (row!.most < portion ? Effect.succeed(row!.combined) : endHolds(now)))
  return endHolds
})

/** How many prompts are made at a time: each may need two megabytes. */
const prompts = 10

/** `LaneStore.combinedRuns` and `placeCombined`. */
const makeCombined = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** Some of the runs whose windows are closed and whose prompts are to be made, in the order in which those ended. */
  combinedRuns: (except: ReadonlyArray<WebhookId>): Effect.Effect<ReadonlyArray<CombinedRun>, Unavailable> =>
    Effect.map(
      bounded(sql`
        select r.id as run_id, r.team, w.webhook_id, w.template, r.prompt, r.layout, r.variables, r.joined, (
            select coalesce(json_agg(l.request order by l.seq), '[]') from (
              ${latest(sql, sql`where k.run_id = w.run_id`)}
            ) l where l.fits
          ) as requests
        from webhook_trigger.windows w join webhook_trigger.runs r on r.id = w.run_id
        where w.closed and w.webhook_id <> all(${uuids(sql, except)}) order by w.until, r.seq limit ${prompts}`),
      (rows) => rows.map((row) => fromRow<CombinedRun>(row))
    ),

  /** It takes its place, as from `endHolds`, with this prompt. Changes nothing the second time. */
  placeCombined: ({ layout, prompt, run_id, variables }: PlacedRun): Effect.Effect<void, Unavailable> =>
    Effect.asVoid(
      bounded(sql`
        with hook as materialized (
          select w.id from webhook_trigger.webhooks w
          where w.id = (select webhook_id from webhook_trigger.windows where run_id = ${run_id}) for key share
        ), over as materialized (
          select w.run_id from webhook_trigger.windows w
          where w.run_id = ${run_id} and w.closed and w.webhook_id in (select id from hook) for update
        ), locked as materialized (
          select r.id from webhook_trigger.runs r where r.id in (select run_id from over) for no key update
        ), removed as (
          delete from webhook_trigger.windows w using over where w.run_id = over.run_id
        ), placed as (
          update webhook_trigger.runs r set ${letGo(sql, nextPlace(sql))}, prompt = ${storable(prompt)},
            layout = ${layout === undefined ? null : Json.stringify(layout)}::json, variables = ${Json.stringify(variables)}::json
          from locked where r.id = locked.id and r.held_for = 'window'
          returning r.id
        ), ${notify(sql, "RunChanged", sql`select id::text as name from placed`)}
        select count(*) from notified`)
    )
}))

/** `RunStore.endHold`. The window is locked first, as when joining. */
export const makeEndHold = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fn("RunStore.endHold")(function* (id: RunId, at: DateTime.Utc) {
    const time = sql`${DateTime.toDateUtc(at)}::timestamptz`
    yield* sql`
      with shut as (
        update webhook_trigger.windows w set until = ${time}, latest = ${time}
        where w.run_id = ${id} and w.until > ${time} returning w.run_id
      ), ended as (
        update webhook_trigger.runs r set held_until = ${time}, deadline_at = ${time} + (r.deadline_at - r.held_until)
        where r.id = ${id} and r.held_until > ${time} and (r.held_for = 'time' or r.id in (select run_id from shut))
        returning r.id
      ), ${notify(sql, "RunChanged", sql`select id::text as name from ended`)}
      select count(*) from notified`
  }, bounded)
)

/** `LaneStore.endHolds`, `combinedRuns` and `placeCombined`. */
export const makeHolds = Effect.gen(function* () {
  return { endHolds: yield* makeEndHolds, ...(yield* makeCombined) }
})
