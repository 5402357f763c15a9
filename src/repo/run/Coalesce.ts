/** Triggers that join an earlier trigger's run while its window is open: a part of accepting runs (`Accept.ts`). */
import { Effect, Result } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { IdempotencyKeyReused } from "../../domain/Errors.ts"
import type { RunId } from "../../domain/Id.ts"
import * as Combined from "../../domain/prompt/Combined.ts"
import { staysCancelled } from "../../domain/run/Canceller.ts"
import { recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { approvalTime } from "../RunColumns.ts"
import type { Acceptance, AcceptanceRefused, NewRun } from "./RunStore.ts"

type Answer = Result.Result<Acceptance, AcceptanceRefused>

/** A run to coalesce. */
interface Coalescing extends NewRun {
  readonly webhook: NonNullable<NewRun["webhook"]>
  readonly coalesce: NonNullable<NewRun["coalesce"]>
}

const isCoalescing = (run: NewRun): run is Coalescing => run.webhook !== undefined && run.coalesce !== undefined

/** Requests kept for prompts, and whether they are within the limits, which drop the oldest. */
export const latest = (sql: SqlClient.SqlClient, of: Statement.Fragment): Statement.Fragment => sql`
  select k.run_id, k.seq, k.request, row_number() over later = 1
      or row_number() over later <= ${Combined.maxRequests} and sum(k.bytes) over later <= ${Combined.maxRequestBytes} as fits
  from webhook_trigger.window_requests k ${of}
  window later as (partition by k.run_id order by k.seq desc)`

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
  asked_by: "text",
  variables: "json",
  needs_approval: "boolean",
  until: "timestamptz",
  template: "json",
  request: "json",
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
  asked_by: run.asked_by,
  variables: run.variables,
  needs_approval: run.needs_approval,
  until: run.coalesce.until,
  template: run.coalesce.template,
  request: run.coalesce.request,
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
      where r.id = d.run_id and r.status = 'cancelled' and r.cancelled_by not in ${sql.in(staysCancelled)}
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
  same_request ? Result.succeed({ _tag: "Coalesced", run_id, repeated }) : Result.fail(new IdempotencyKeyReused())

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
        select w.* from webhook_trigger.windows w
        where (w.webhook_id, w.team, w.key) in (select webhook_id, team, key from fresh) and not w.closed
        order by w.webhook_id, w.team, w.key for update
      ), newest as materialized (
        select distinct on (w.run_id) w.run_id, f.title, f.prompt, f.layout, f.agent, f.variables, f.version, f.needs_approval,
          f.template,
          string_agg(f.asked_by, chr(10)) over (partition by w.run_id) as asked_by,
          least(w.latest, greatest(w.until, max(f.until) over (partition by w.run_id))) as until,
          w.template is not null as combined, count(*) over (partition by w.run_id)::int as joined
        from fresh f join wanted w using (webhook_id, team, key) order by w.run_id, f.ord desc
      ), merged as (
        update webhook_trigger.runs r set
          title = n.title, prompt = n.prompt, layout = n.layout::json, agent = n.agent::json, variables = n.variables::json,
          asked_by = case when strpos(concat(chr(10), r.asked_by, chr(10)), concat(chr(10), n.asked_by, chr(10))) > 0
            then r.asked_by else concat_ws(chr(10), r.asked_by, n.asked_by) end,
          webhook_version = n.version, joined = r.joined + n.joined, held_until = n.until,
          needs_approval = coalesce(r.needs_approval, n.needs_approval),
          deadline_at = r.deadline_at + (n.until - r.held_until) + case
            when r.needs_approval is null and n.needs_approval then ${approvalTime} else interval '0'
          end
        from newest n where r.id = n.run_id and r.held_for = 'window'
        returning r.id
      ), moved as (
        update webhook_trigger.windows w set until = n.until, template = n.template::json from newest n
        where w.run_id = n.run_id and w.run_id in (select id from merged)
          and (n.until > w.until or n.combined or n.template is not null)
      ), taken as materialized (
        select f.ord, f.webhook_id, f.request, f.idempotency_key, f.request_hash, f.expires_at, w.run_id
        from fresh f join wanted w using (webhook_id, team, key)
        where w.run_id in (select id from merged)
      ), kept as (
        -- In the order of acceptance.
        insert into webhook_trigger.window_requests (run_id, request, bytes)
        select run_id, request::json, octet_length(request) from taken where request is not null order by ord
      ), dropped as (
        delete from webhook_trigger.window_requests k using (${latest(sql, sql`join newest using (run_id)`)}) l
        where (k.run_id, k.seq) = (l.run_id, l.seq) and not l.fits
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
