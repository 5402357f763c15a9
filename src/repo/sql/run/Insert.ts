import { SqlClient, type Statement } from "@effect/sql"
import { type DateTime, Effect } from "effect"
import type { RunId } from "../../../domain/Id.ts"
import { type AcceptOptions, isRetry, type NewRun } from "../../run/RunStore.ts"
import { list, recordset } from "../Columns.ts"
import { inLane, isOut, isWaiting, mayWork } from "../RunColumns.ts"
import { inputTypes, type NewRunWebhook, storedTypes, toInput } from "./AcceptInput.ts"
import { windowsOf } from "./Coalesce.ts"
import { filesOf } from "./FileStoreSql.ts"
import { makeKeys } from "./IdempotencyKeys.ts"
import { queueLength } from "./LaneStoreSql.ts"
import { retriesOf } from "./Retries.ts"
import { singletonsOf } from "./Singletons.ts"
import { threadsOf } from "./Threads.ts"
import { type WebhookRefusal, webhookLimits } from "./WebhookLimits.ts"

/** The result for a run. */
export interface Inserted {
  readonly outcome: "accepted" | "unknown" | "edited" | "full" | WebhookRefusal | "repeats" | "skipped"
  readonly retry_after_ms: number | null
  readonly used_of_day: number | null
  /** Of a skipped run: the one that is on. */
  readonly skipped_for: RunId | null
}

export interface InsertOptions extends AcceptOptions {
  readonly at: DateTime.Utc
  readonly slots: number
  /** An array of the teams with a leader. */
  readonly led: Statement.Fragment
}

/** The part of a step that checks and writes runs. */
export interface Insert {
  /** Queries, to be followed by others. */
  readonly queries: Statement.Fragment
  /** The answers, in the order of the runs, as JSON text: an array of `Inserted`. */
  readonly answers: Statement.Fragment
  /** The teams whose lanes have new runs. */
  readonly teams: Statement.Fragment
  /** The query of the runs that they superseded, if any may be. */
  readonly superseded?: Statement.Fragment
}

export const makeInsert = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { isKnown, unlessKnown } = yield* makeKeys

  const columns = list(Object.keys(storedTypes))
  const values = list(Object.entries(storedTypes).map(([name, type]) => `r.${name}::${type}`))
  const none: Insert = { queries: sql``, answers: sql`null::text`, teams: sql`select null::text as team where false` }
  /** The team `t` has nothing to do, and there is a slot: the next run of its lane does not wait, except for a leader. */
  const isIdle = (slots: number) => sql`${mayWork} and not exists (
    select from webhook_trigger.runs r where r.team = t.team and ${inLane}
  ) and not exists (select from webhook_trigger.runs r where r.team = t.team and ${isOut}) and (
    select count(*) from webhook_trigger.runs r where ${isOut} and r.webhook_id is not null
  ) < ${slots}::int`

  // Statements that delete a webhook, delete or pause a team, or replace a token, either wait for this commit or are
  // seen by it.
  return (runs: ReadonlyArray<NewRun>, options: InsertOptions): Insert => {
    if (runs.length === 0) return none
    const { countQueued = true, countQueuedOf, maxQueued } = options
    const isCounted = ({ id }: NewRunWebhook) => countQueuedOf === undefined || countQueuedOf.has(id)
    const countsOwn = runs.some(({ webhook }) => webhook?.max_queued !== undefined && isCounted(webhook))
    const { limited, consumed } = webhookLimits(sql, {
      countsOwn,
      rates: runs.some(({ webhook }) => webhook?.rate !== undefined),
      budgets: runs.some(({ webhook }) => webhook?.budget !== undefined),
      costs: runs.some(({ webhook }) => webhook?.budget?.cost_usd !== undefined)
    })
    const windows = windowsOf(sql, runs)
    const threads = threadsOf(sql, runs)
    const files = filesOf(sql, runs)
    const { after, failed, mayBeRetried, retried, reported } = retriesOf(sql, runs.filter(isRetry))
    const { onRun, replaced, skippedFor, superseded, takesPlace } = singletonsOf(sql, runs, { after, at: options.at })
    return {
      ...(superseded && { superseded }),
      queries: sql`
      input as materialized (
        select i.*${onRun} from ${recordset(sql, inputTypes, runs.map(toInput(isCounted)))}
      ), webhook as materialized (
        select w.id, w.token_hash, w.old_token_hash, w.old_token_valid_until, w.version from webhook_trigger.webhooks w
        where w.enabled and w.id in (select webhook_id from input)
        order by w.id for key share
      ), known as materialized (
        select t.team, ${countsOwn ? isIdle(options.slots) : sql`false`} as is_idle from webhook_trigger.teams t
        where t.team in (select team from input)
        order by t.team for key share
      ), ${failed} checked as materialized (
        select i.*, t.team is not null and (i.webhook_id is null or h.id is not null) ${mayBeRetried} as known,
          h.version is distinct from i.version as edited, ${isKnown(runs)} as repeats, ${skippedFor} as skipped_for,
          ${takesPlace} as takes_place, coalesce(
            t.is_idle and i.approval_until is null and (i.mode = 'wait' or i.deadline_at is null or i.team = any(${options.led})), false
          ) as is_next
        from input i
        left join webhook h on h.id = i.webhook_id and (
          h.token_hash = i.token_hash or h.old_token_hash = i.token_hash and h.old_token_valid_until > i.accepted_at
        )
        left join known t on t.team = i.team
      ), candidate as (
        select c.* from checked c where c.known and not c.edited and not c.repeats and c.skipped_for is null
      ), ${limited} queue as materialized (${countQueued ? queueLength(sql, sql`${isWaiting} and r.approval_until is null`, maxQueued) : sql`select 0 as length`}), placed as materialized (
        select l.*, l.refusal is null and case when l.takes_place then ${maxQueued}::int > 0 else queue.length
            + count(*) filter (where l.refusal is null and not l.takes_place) over (order by l.ord) <= ${maxQueued} end as fits
        from limited l, queue
      ), ${windows.opened} ${threads.joined} inserted as (
        insert into webhook_trigger.runs (${columns}${windows.columns}${threads.columns})
        select ${values}${windows.values}${threads.values} from placed r where fits ${windows.hasOpened} order by ord
        ${unlessKnown(runs)}
        returning id, team
      ), ${files} ${retried} ${consumed} answered as materialized (
        select c.ord, p.retry_after_ms, p.used_of_day, c.skipped_for ${reported} , case
            when not c.known then 'unknown'
            when c.edited then 'edited'
            when i.id is not null then 'accepted'
            when c.skipped_for is not null and not c.repeats then 'skipped'
            when p.refusal is not null then p.refusal
            when not p.fits then 'full'
            else 'repeats'
          end as outcome
        from checked c left join placed p using (ord) left join inserted i on i.id = c.id
      ), ${replaced}`,
      answers: sql`(select json_agg(a order by a.ord)::text from answered a)`,
      teams: sql`select team from inserted`
    }
  }
})
