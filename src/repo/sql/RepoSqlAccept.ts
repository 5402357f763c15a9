import { SqlClient } from "@effect/sql"
import { Effect, Exit } from "effect"
import { IdempotencyKeyReused, NotFound, TooManyQueued } from "../../domain/Errors.ts"
import type { Acceptance, NewRun } from "../Repo.ts"
import { type RunRow, storable, toRun } from "../RunRow.ts"
import { makeBatch } from "./Batch.ts"
import { tell } from "./Changes.ts"
import { bounded, unavailable } from "./Database.ts"
import { runColumns } from "./RunColumns.ts"

interface Item {
  readonly run: NewRun
  /** As JSON. */
  readonly variables: string
  readonly max_queued: number
}

type Answer = Exit.Exit<Acceptance, NotFound | TooManyQueued | IdempotencyKeyReused>

type EarlierRow = RunRow & { readonly ord: number; readonly request_hash: Uint8Array; readonly expired: boolean }

const accepted: Answer = Exit.succeed({ _tag: "accepted" })

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** How often an idempotency key may turn out to be somebody's, and then again nobody's, in one call. */
const attempts = 5

/** The hand-over: runs that arrive together are checked and written by one statement, with one commit. */
export const makeAccept = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const insert = (items: ReadonlyArray<Item>) => {
    const input = items.map(({ run, variables, max_queued }, ord) => ({
      ord,
      max_queued,
      id: run.run_id,
      source: run.source,
      webhook_id: run.webhook?.id,
      token_hash: run.webhook && hex(run.webhook.token_hash),
      team: run.team,
      mode: run.mode,
      prompt: storable(run.prompt),
      variables,
      timeout_ms: run.timeout_ms,
      deadline_at: run.deadline_at,
      accepted_at: run.accepted_at,
      idempotency_key: run.idempotency?.key,
      idempotency_expires_at: run.idempotency && new Date(run.accepted_at.getTime() + run.idempotency.ttl_ms),
      request_hash: run.idempotency && hex(run.idempotency.request_hash)
    }))
    const most = Math.max(...items.map((item) => item.max_queued))
    // Whoever deletes or re-keys a webhook or a team either waits for this commit or is seen by it.
    return bounded(sql<{ readonly ord: number; readonly outcome: "accepted" | "unknown" | "full" | "repeats" }>`
      with input as materialized (
        select * from json_to_recordset(${JSON.stringify(input)}::json) as i(
          ord int, max_queued bigint, id uuid, source text, webhook_id uuid, token_hash text, team text, mode text,
          prompt text, variables text, timeout_ms bigint, deadline_at timestamptz, accepted_at timestamptz,
          idempotency_key text, idempotency_expires_at timestamptz, request_hash text
        )
      ), hooks as materialized (
        select w.id, w.token_hash from webhook_trigger.webhooks w
        where w.enabled and w.id in (select webhook_id from input)
        order by w.id for key share
      ), known as materialized (
        select t.team from webhook_trigger.teams t where t.team in (select team from input)
        order by t.team for key share
      ), checked as materialized (
        select i.*, t.team is not null and (i.webhook_id is null or h.id is not null) as valid, earlier.seq as earlier
        from input i
        left join hooks h on h.id = i.webhook_id and h.token_hash = decode(i.token_hash, 'hex')
        left join known t on t.team = i.team
        left join lateral (
          select r.seq from webhook_trigger.runs r
          where r.webhook_id = i.webhook_id and r.idempotency_key = i.idempotency_key
        ) earlier on true
      ), queue as materialized (
        select count(*) as length from (
          select from webhook_trigger.runs where status = 'queued' and admitted_at is null
          order by team, seq limit ${most}
        ) as waiting
      ), placed as materialized (
        select c.*, queue.length + row_number() over (order by c.ord) <= c.max_queued as fits
        from checked c, queue where c.valid and c.earlier is null
      ), inserted as (
        insert into webhook_trigger.runs (
          id, source, webhook_id, team, mode, prompt, variables, timeout_ms, deadline_at, accepted_at,
          idempotency_key, idempotency_expires_at, request_hash
        )
        select id, source, webhook_id, team, mode, prompt, variables::json, timeout_ms, deadline_at, accepted_at,
          idempotency_key, idempotency_expires_at, decode(request_hash, 'hex')
        from placed where fits order by ord
        on conflict (webhook_id, idempotency_key) where idempotency_key is not null do nothing
        returning id, team
      ), ${tell(sql, "RunAccepted", sql`select team as name from inserted`)}
      select c.ord, case
          when not c.valid then 'unknown'
          when i.id is not null then 'accepted'
          when not p.fits then 'full'
          else 'repeats'
        end as outcome, (select count(*) from told)
      from checked c left join placed p using (ord) left join inserted i on i.id = c.id
      order by c.ord`)
  }

  /** The runs that these items' keys named before. */
  const earlier = (items: ReadonlyArray<Item>) => {
    const input = items.map(({ run }, ord) => ({
      ord,
      webhook_id: run.webhook?.id,
      key: run.idempotency?.key,
      at: run.accepted_at
    }))
    return bounded(sql<EarlierRow>`
      select i.ord, ${runColumns(sql)}, r.request_hash, r.idempotency_expires_at <= i.at as expired
      from json_to_recordset(${JSON.stringify(input)}::json) as i(ord int, webhook_id uuid, key text, at timestamptz)
      join webhook_trigger.runs r on r.webhook_id = i.webhook_id and r.idempotency_key = i.key`)
  }

  /** An old key is free again; its run stays. */
  const free = (rows: ReadonlyArray<EarlierRow>) =>
    bounded(sql`
      update webhook_trigger.runs set idempotency_key = null where id in (
        select value::uuid from json_array_elements_text(${JSON.stringify(rows.map((row) => row.id))}::json)
      )`)

  const acceptAll = Effect.fn("Repo.accept")(function* (items: ReadonlyArray<Item>) {
    const answers = new Map<Item, Answer>()
    let open = items
    for (let attempt = 0; open.length > 0; attempt++) {
      if (attempt === attempts) return yield* unavailable("The idempotency key is in dispute.")
      const heads = firstOfEachKey(open)
      const outcomes = yield* insert([...heads.values()])
      const outcomeOf = new Map([...heads].map(([key, head], ord) => [key, { head, ...outcomes[ord]! }]))

      const doubtful = open.filter((item) => {
        const { head, outcome } = outcomeOf.get(keyOf(item))!
        if (outcome === "unknown") answers.set(item, Exit.fail(new NotFound()))
        else if (outcome === "accepted" && item === head) answers.set(item, accepted)
        else if (outcome === "full" && item.run.idempotency === undefined) answers.set(item, full(item))
        return !answers.has(item)
      })
      if (doubtful.length === 0) break

      // What these keys named before, by an earlier call or by one in this batch.
      const rows = yield* earlier(doubtful)
      const earlierOf = new Map(rows.map((row) => [doubtful[row.ord]!, row]))
      open = doubtful.filter((item) => {
        const row = earlierOf.get(item)
        if (row && !row.expired) answers.set(item, repeated(row, item.run))
        else if (!row && outcomeOf.get(keyOf(item))?.outcome === "full") answers.set(item, full(item))
        return !answers.has(item)
      })
      const expired = rows.filter((row) => row.expired)
      if (expired.length > 0) yield* free(expired)
    }
    return items.map((item) => answers.get(item)!)
  })

  const accept = yield* makeBatch({
    size: 500,
    weight: { of: ({ run, variables }: Item) => run.prompt.length + variables.length, limit: 4_000_000 },
    run: acceptAll
  })
  return (run: NewRun, { max_queued }: { readonly max_queued: number }) =>
    accept({ run, variables: JSON.stringify(run.variables), max_queued })
})

/** Items with one idempotency key are one item, until it is known what became of it. */
const firstOfEachKey = (items: ReadonlyArray<Item>): ReadonlyMap<string, Item> => {
  const heads = new Map<string, Item>()
  for (const item of items) if (!heads.has(keyOf(item))) heads.set(keyOf(item), item)
  return heads
}

const keyOf = ({ run }: Item): string =>
  run.webhook && run.idempotency
    ? `${run.webhook.id} ${hex(run.webhook.token_hash)} ${run.idempotency.key}`
    : run.run_id

const full = ({ max_queued }: Item): Answer => Exit.fail(new TooManyQueued({ limit: max_queued }))

const repeated = (row: EarlierRow, run: NewRun): Answer =>
  run.idempotency && Buffer.from(row.request_hash).equals(run.idempotency.request_hash)
    ? Exit.succeed({ _tag: "repeated", run: toRun(row), ...(row.deadline_at && { deadline_at: row.deadline_at }) })
    : Exit.fail(new IdempotencyKeyReused())
