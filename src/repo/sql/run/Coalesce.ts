/** Triggers that join an earlier trigger's run while its window is open: a part of accepting runs (`Accept.ts`). */
import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect, Either } from "effect"
import { IdempotencyKeyReused, type Unavailable } from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import type { Acceptance, AcceptanceRefused, NewRun } from "../../run/RunStore.ts"
import { notify } from "../Changes.ts"
import { recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** A place in a lane, behind every place given before. */
const nextPlace = (sql: SqlClient.SqlClient): Statement.Fragment => sql`nextval('webhook_trigger.runs_seq_seq')`

type Answer = Either.Either<Acceptance, AcceptanceRefused>

/** A run to coalesce. */
interface Coalescing extends NewRun {
  readonly webhook: NonNullable<NewRun["webhook"]>
  readonly coalesce: NonNullable<NewRun["coalesce"]>
}

export const isCoalescing = (run: NewRun): run is Coalescing => run.webhook !== undefined && run.coalesce !== undefined

interface Windows {
  /** The windows that the accepted runs open. */
  readonly opened: Statement.Fragment
  /** False if another run has opened the window in the meantime. */
  readonly hasOpened: Statement.Fragment
  /** The columns of coalesced runs. A run that opens a window gets no place; an ordinary run does. */
  readonly columns: Statement.Fragment
  readonly values: Statement.Fragment
}

export const windowsOf = (sql: SqlClient.SqlClient, coalesces: boolean): Windows =>
  coalesces
    ? {
        columns: sql`, place, collecting_until, joined`,
        values: sql`,
          case when window_key is null then ${nextPlace(sql)} end, window_until, case when window_key is not null then 0 end`,
        opened: sql`opened as (
          insert into webhook_trigger.windows (webhook_id, team, key, run_id, until)
          select webhook_id, team, window_key, id, window_until from placed
          where fits and window_key is not null order by webhook_id, team, window_key
          on conflict do nothing returning run_id
        ),`,
        hasOpened: sql`and (window_key is null or id in (select run_id from opened))`
      }
    : { opened: sql``, hasOpened: sql``, columns: sql``, values: sql`` }

/** How many windows one statement closes, and how many keys it forgets. */
const portion = 1000

/**
 * `LaneStore.closeWindows`, which also forgets expired keys. A trigger that joins a run locks the window: it either
 * commits before the window is closed, or does not find it. Locks are taken in the same order as when joining and
 * deleting.
 *
 * After an outage, there may be more windows than one statement can close in its time. Windows that end at the same
 * moment are closed together, so that their runs keep their order.
 */
export const makeCloseWindows = Effect.map(SqlClient.SqlClient, (sql) => {
  const closeSome = (now: DateTime.Utc) => {
    const time = sql`${DateTime.toDateUtc(now)}::timestamptz`
    return bounded(sql<{ readonly most: number }>`
      with free as materialized (
        select webhook_id, idempotency_key from webhook_trigger.window_deliveries where expires_at <= ${time}
        order by expires_at limit ${portion}
      ), forgotten as (
        delete from webhook_trigger.window_deliveries d using free
        where (d.webhook_id, d.idempotency_key) = (free.webhook_id, free.idempotency_key) and d.expires_at <= ${time}
      ), due as materialized (
        select webhook_id, team, key from webhook_trigger.windows where until <= ${time}
        order by until fetch first ${portion} rows with ties
      ), hook as materialized (
        select w.id from webhook_trigger.webhooks w where w.id in (select webhook_id from due)
        order by w.id for key share
      ), over as materialized (
        select w.webhook_id, w.team, w.key, w.run_id, w.until from webhook_trigger.windows w
        where (w.webhook_id, w.team, w.key) in (select webhook_id, team, key from due)
          and w.webhook_id in (select id from hook)
        order by w.webhook_id, w.team, w.key for update
      ), closed as (
        delete from webhook_trigger.windows w using over
        where (w.webhook_id, w.team, w.key) = (over.webhook_id, over.team, over.key)
      ), locked as materialized (
        select r.id, r.seq from webhook_trigger.runs r where r.id in (select run_id from over)
        order by r.id for no key update
      ), next as materialized (
        select id, ${nextPlace(sql)} as place from (
          select l.id from locked l join over on over.run_id = l.id order by over.until, l.seq
        ) as in_order
      ), placed as (
        update webhook_trigger.runs r set place = next.place, collecting_until = null
        from next where r.id = next.id and r.status = 'queued' and r.place is null
        returning r.id
      ), ${notify(sql, "RunChanged", sql`select id::text as name from placed`)}
      select greatest((select count(*) from due), (select count(*) from free))::int as most, count(*) from notified`)
  }
  const closeWindows = (now: DateTime.Utc): Effect.Effect<void, Unavailable> =>
    Effect.flatMap(closeSome(now), ([row]) => (row!.most < portion ? Effect.void : closeWindows(now)))
  return closeWindows
})

const types = {
  ord: "int",
  webhook_id: "uuid",
  token_hash: "bytea",
  version: "int",
  team: "text",
  key: "text",
  accepted_at: "timestamptz",
  title: "text",
  prompt: "text",
  layout: "json",
  agent: "json",
  variables: "json",
  idempotency_key: "text",
  request_hash: "bytea",
  expires_at: "timestamptz"
} as const

const toInput = (run: Coalescing, ord: number) => ({
  ord,
  webhook_id: run.webhook.id,
  token_hash: run.webhook.token_hash,
  version: run.webhook.version,
  team: run.team,
  key: run.coalesce.key,
  accepted_at: run.accepted_at,
  title: run.title,
  prompt: run.prompt,
  layout: run.layout,
  agent: run.agent,
  variables: run.variables,
  idempotency_key: run.idempotency?.key,
  request_hash: run.idempotency?.request_hash,
  expires_at: run.idempotency?.expires_at
})

const deliveredTypes = {
  ord: "int",
  webhook_id: "uuid",
  accepted_at: "timestamptz",
  idempotency_key: "text",
  request_hash: "bytea"
} as const

type Keyed = Pick<NewRun, "accepted_at" | "idempotency" | "webhook">

const toKey = ({ accepted_at, idempotency, webhook }: Keyed, ord: number) => ({
  ord,
  webhook_id: webhook?.id,
  accepted_at,
  idempotency_key: idempotency?.key,
  request_hash: idempotency?.request_hash
})

/** The inputs `i` whose key belongs to a trigger that joined an earlier run. */
const deliveredOf = (sql: SqlClient.SqlClient, input: Statement.Fragment): Statement.Fragment => sql`
  select i.ord, d.run_id, d.request_hash = i.request_hash as same_request, true as repeated,
    exists (
      select from webhook_trigger.runs r
      where r.id = d.run_id and r.status = 'cancelled' and r.cancelled_by not in ('superseded', 'event')
    ) as cancelled
  from ${input} join webhook_trigger.window_deliveries d using (webhook_id, idempotency_key)
  where d.expires_at > i.accepted_at`

interface Delivered {
  readonly ord: number
  readonly run_id: RunId
  readonly same_request: boolean
  readonly repeated: boolean
  readonly cancelled: boolean
}

/** The run that it joined was cancelled, and the delivery starts another one. */
const isFree = ({ cancelled }: Delivered, { idempotency }: NewRun): boolean =>
  cancelled && idempotency?.renewsCancelled === true

const answerOf = ({ repeated, run_id, same_request }: Delivered): Answer =>
  same_request ? Either.right({ _tag: "Coalesced", run_id, repeated }) : Either.left(new IdempotencyKeyReused())

/**
 * The results of repeats of triggers that joined an earlier run, whatever their webhook coalesces now. Keys that are free
 * have none, and are forgotten.
 */
export const makeFindDelivered = Effect.map(SqlClient.SqlClient, (sql) => {
  const forget = (runs: ReadonlyArray<NewRun>) =>
    bounded(sql`
      delete from webhook_trigger.window_deliveries d using ${recordset(sql, deliveredTypes, runs.map(toKey))}
      where (d.webhook_id, d.idempotency_key) = (i.webhook_id, i.idempotency_key)`)

  return Effect.fnUntraced(function* (runs: ReadonlyArray<NewRun>) {
    const rows = yield* bounded(sql<Delivered>`${deliveredOf(sql, recordset(sql, deliveredTypes, runs.map(toKey)))}`)
    const free = rows.filter((row) => isFree(row, runs[row.ord]!))
    if (free.length > 0) yield* forget(free.map(({ ord }) => runs[ord]!))
    return rows.filter((row) => !free.includes(row)).map((row) => [runs[row.ord]!, answerOf(row)] as const)
  })
})

/** Runs with the same idempotency key are one run: the first one's result decides the others'. */
const firstOfEachDelivery = (runs: ReadonlyArray<Coalescing>): ReadonlyArray<Coalescing> => {
  const seen = new Set<string>()
  return runs.filter(({ idempotency, webhook }) => {
    const key = idempotency && `${webhook.id} ${idempotency.key}`
    if (key === undefined) return true
    const isFirst = !seen.has(key)
    seen.add(key)
    return isFirst
  })
}

/**
 * The results of triggers whose window is open; the others are new runs. The window's row is locked before its run is
 * changed, so closing the window either waits for the change or comes first. A run that is read after its window was
 * closed is final.
 */
export const makeCoalesce = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  return Effect.fnUntraced(function* (given: ReadonlyArray<NewRun>) {
    const runs = firstOfEachDelivery(given.filter(isCoalescing))
    const answers = new Map<NewRun, Answer>()
    if (runs.length === 0) return answers
    const rows = yield* bounded(sql<Delivered>`
      with input as materialized (
        select * from ${recordset(sql, types, runs.map(toInput))}
      ), hook as materialized (
        select w.id, w.token_hash, w.old_token_hash, w.old_token_valid_until, w.version from webhook_trigger.webhooks w
        where w.enabled and w.id in (select webhook_id from input)
        order by w.id for key share
      ), current as materialized (
        select i.* from input i join hook h on h.id = i.webhook_id and h.version = i.version and (
          h.token_hash = i.token_hash or h.old_token_hash = i.token_hash and h.old_token_valid_until > i.accepted_at
        )
      ), delivered as materialized (${deliveredOf(sql, sql`current i`)}), fresh as materialized (
        select i.* from current i
        where not exists (select from delivered d where d.ord = i.ord) and not exists (
          select from webhook_trigger.runs r
          where r.webhook_id = i.webhook_id and r.idempotency_key = i.idempotency_key
        )
      ), wanted as materialized (
        select w.webhook_id, w.team, w.key, w.run_id from webhook_trigger.windows w
        where (w.webhook_id, w.team, w.key) in (select webhook_id, team, key from fresh)
        order by w.webhook_id, w.team, w.key for update
      ), newest as materialized (
        select distinct on (w.run_id) w.run_id, f.title, f.prompt, f.layout, f.agent, f.variables,
          count(*) over (partition by w.run_id)::int as joined
        from fresh f join wanted w using (webhook_id, team, key) order by w.run_id, f.ord desc
      ), merged as (
        update webhook_trigger.runs r set
          title = n.title, prompt = n.prompt, layout = n.layout::json, agent = n.agent::json, variables = n.variables::json, joined = r.joined + n.joined
        from newest n where r.id = n.run_id and r.status = 'queued' and r.place is null
        returning r.id
      ), taken as materialized (
        select f.*, w.run_id from fresh f join wanted w using (webhook_id, team, key)
        where w.run_id in (select id from merged)
      ), remembered as (
        insert into webhook_trigger.window_deliveries (webhook_id, idempotency_key, run_id, request_hash, expires_at)
        select webhook_id, idempotency_key, run_id, request_hash, expires_at from taken where idempotency_key is not null
        on conflict (webhook_id, idempotency_key) do update set
          run_id = excluded.run_id, request_hash = excluded.request_hash, expires_at = excluded.expires_at
          where window_deliveries.expires_at <= now()
      ), stale as (
        delete from webhook_trigger.windows w using wanted
        where w.run_id = wanted.run_id and w.run_id not in (select id from merged)
      )
      select ord, run_id, true as same_request, false as repeated, false as cancelled from taken
      union all select ord, run_id, same_request, repeated, cancelled from delivered`)
    for (const row of rows) {
      const run = runs[row.ord]!
      if (!isFree(row, run)) answers.set(run, answerOf(row))
    }
    return answers
  })
})
