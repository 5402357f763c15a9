import { SqlClient } from "@effect/sql"
import { Effect } from "effect"
import { type AcceptOptions, isRetry, type NewRun } from "../../run/RunStore.ts"
import { notify } from "../Changes.ts"
import { list, recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { inputTypes, type NewRunWebhook, storedTypes, toInput } from "./AcceptInput.ts"
import { admissionAtAcceptance, deadlineAtAcceptance } from "./Admission.ts"
import { isCoalescing, windowsOf } from "./Coalesce.ts"
import { makeKeys } from "./IdempotencyKeys.ts"
import { queueLength } from "./LaneStoreSql.ts"
import { retriesOf } from "./Retries.ts"
import { threadsOf } from "./Threads.ts"
import { type WebhookRefusal, webhookLimits } from "./WebhookLimits.ts"

/** The result for a run. */
export interface Inserted {
  readonly outcome: "accepted" | "admitted" | "unknown" | "edited" | "full" | WebhookRefusal | "repeats"
  readonly retry_after_ms: number | null
  readonly used_of_day: number | null
  readonly ahead: string | null
}

/** The statement of `RunStore.accept` that checks and writes runs. */
export const makeInsert = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { isKnown, unlessKnown } = yield* makeKeys

  const columns = list([...Object.keys(storedTypes), "webhook_version"])
  const values = sql.csv([
    ...Object.entries(storedTypes).map(([name, type]) =>
      name === "deadline_at" ? deadlineAtAcceptance(sql) : sql.literal(`r.${name}::${type}`)
    ),
    sql`coalesce(r.webhook_version, r.version)`
  ])

  // Statements that delete a webhook, delete or pause a team, or replace a token, either wait for this commit or are
  // seen by it.
  return (runs: ReadonlyArray<NewRun>, options: AcceptOptions) => {
    const { admission, countQueued = true, countQueuedOf, maxQueued } = options
    const isCounted = ({ id }: NewRunWebhook) => countQueuedOf === undefined || countQueuedOf.has(id)
    const { limited, consumed } = webhookLimits(sql, {
      countsOwn: runs.some(({ webhook }) => webhook?.max_queued !== undefined && isCounted(webhook)),
      rates: runs.some(({ webhook }) => webhook?.rate !== undefined),
      budgets: runs.some(({ webhook }) => webhook?.budget !== undefined),
      costs: runs.some(({ webhook }) => webhook?.budget?.cost_usd !== undefined)
    })
    const windows = windowsOf(sql, runs.some(isCoalescing))
    const threads = threadsOf(sql, runs)
    const { failed, mayBeRetried, retried, reported } = retriesOf(sql, runs.filter(isRetry))
    const { lease, first, ahead, admittedAt } = admissionAtAcceptance(sql, admission)
    const inputs = runs.map(toInput(admission?.run_ids, isCounted))
    return bounded(sql<Inserted>`
      with input as materialized (
        select * from ${recordset(sql, inputTypes, inputs)}
      ), ${lease} webhook as materialized (
        select w.id, w.token_hash, w.old_token_hash, w.old_token_valid_until, w.version from webhook_trigger.webhooks w
        where w.enabled and w.id in (select webhook_id from input)
        order by w.id for key share
      ), known as materialized (
        select t.team, t.paused_at, ${first} as first from webhook_trigger.teams t
        where t.team in (select team from input)
        order by t.team for key share
      ), ${failed} checked as materialized (
        select i.*, t.team is not null and (i.webhook_id is null or h.id is not null) ${mayBeRetried} as known,
          h.version is distinct from i.version as edited, ${isKnown(runs)} as repeats,
          ${ahead} as ahead
        from input i
        left join webhook h on h.id = i.webhook_id and (
          h.token_hash = i.token_hash or h.old_token_hash = i.token_hash and h.old_token_valid_until > i.accepted_at
        )
        left join known t on t.team = i.team
      ), candidate as (
        select c.*, ${admittedAt} as admitted_at
        from checked c where c.known and not c.edited and not c.repeats
      ), ${limited} queue as materialized (${countQueued ? queueLength(sql, maxQueued) : sql`select 0 as length`}), placed as materialized (
        select l.*, l.refusal is null
            and queue.length + count(*) filter (where l.refusal is null) over (order by l.ord) <= ${maxQueued} as fits
        from limited l, queue
      ), ${windows.opened} ${threads.joined} inserted as (
        insert into webhook_trigger.runs (${columns}, admitted_at${windows.columns}${threads.columns})
        select ${values}, admitted_at${windows.values}${threads.values} from placed r where fits ${windows.hasOpened} order by ord
        ${unlessKnown(runs)}
        returning id, team, admitted_at
      ), ${retried} ${consumed} ${
        admission ? sql`notified as (select)` : notify(sql, "RunAccepted", sql`select team as name from inserted`)
      }
      select case
          when not c.known then 'unknown'
          when c.edited then 'edited'
          when i.admitted_at is not null then 'admitted'
          when i.id is not null then 'accepted'
          when p.refusal is not null then p.refusal
          when not p.fits then 'full'
          else 'repeats'
        end as outcome, p.retry_after_ms, p.used_of_day, c.ahead, (select count(*) from notified) ${reported}
      from checked c left join placed p using (ord) left join inserted i on i.id = c.id
      order by c.ord`)
  }
})
