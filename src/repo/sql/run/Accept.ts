import { SqlClient, type Statement } from "@effect/sql"
import { Duration, Effect, Either } from "effect"
import { IdempotencyKeyReused, NotFound, RateLimited, TooManyQueued, type Unavailable } from "../../../domain/Errors.ts"
import type { RunId } from "../../../domain/Id.ts"
import type { RunRow } from "../../../domain/run/Run.ts"
import { parseRate } from "../../../domain/webhook/Rate.ts"
import { whenTraced } from "../../../telemetry/Span.ts"
import type { Change } from "../../ChangeFeed.ts"
import {
  type Acceptance,
  type AcceptanceRefused,
  type AcceptOptions,
  isRetry,
  mostAhead,
  type NewRun,
  WebhookEdited
} from "../../RunStore.ts"
import { notify } from "../Changes.ts"
import { fromRow, list, recordset, runIds } from "../Columns.ts"
import { bounded, unavailable } from "../database/Database.ts"
import type { NotifySoon } from "../database/NotifySoon.ts"
import { runColumns, runFromRow } from "../RunColumns.ts"
import { admissionAtAcceptance, deadlineAtAcceptance } from "./Admission.ts"
import { isCoalescing, makeCoalesce, makeFindDelivered, windowsOf } from "./Coalesce.ts"
import { queueLength } from "./LaneStoreSql.ts"
import { retriesOf } from "./Retries.ts"
import { type LimitsShape, limitTypes, webhookLimits } from "./WebhookLimits.ts"

type Answer = Either.Either<Acceptance, AcceptanceRefused>

const admitted: Answer = Either.right({ _tag: "Accepted", admitted: true })

type NewRunWebhook = NonNullable<NewRun["webhook"]>

/** A field of `NewRun` under its own name: one that is missing in `toInput` does not compile. */
type InputField = Exclude<keyof NewRun, "run_id" | "webhook" | "timeout" | "idempotency" | "coalesce">

/** Field by field: spreading the run, whose fields are many and often absent, takes eight times as long as all this. */
const toInput =
  (admit?: ReadonlySet<RunId>, isCounted: (webhook: NewRunWebhook) => boolean = () => false) =>
  (run: NewRun, ord: number) => {
    const { run_id, webhook, timeout, idempotency, coalesce } = run
    const rate = webhook?.rate === undefined ? undefined : parseRate(webhook.rate)
    return {
      ord,
      admit: admit?.has(run_id) === true,
      id: run_id,
      source: run.source,
      team: run.team,
      mode: run.mode,
      prompt: run.prompt,
      layout: run.layout,
      variables: run.variables,
      replay_of: run.replay_of,
      attempt: run.attempt,
      attempts: run.attempts,
      retry_after_seconds: run.retry_after_seconds,
      deadline_at: run.deadline_at,
      accepted_at: run.accepted_at,
      traceparent: run.traceparent,
      webhook_version: run.webhook_version,
      webhook_id: webhook?.id,
      token_hash: webhook?.token_hash,
      version: webhook?.version,
      max_queued: webhook && isCounted(webhook) ? webhook.max_queued : undefined,
      rate_runs: rate?.runs,
      rate_seconds: rate?.seconds,
      timeout_ms: Math.round(Duration.toMillis(timeout)),
      idempotency_key: idempotency?.key,
      idempotency_expires_at: idempotency?.expires_at,
      request_hash: idempotency?.request_hash,
      window_key: coalesce?.key,
      window_until: coalesce?.until
    } satisfies { readonly [Field in InputField]: NewRun[Field] | undefined } & Readonly<Record<string, unknown>>
  }

/** The columns of `runs` that are given at acceptance. */
const storedTypes = {
  id: "uuid",
  source: "text",
  webhook_id: "uuid",
  team: "text",
  mode: "text",
  prompt: "text",
  layout: "json",
  variables: "json",
  timeout_ms: "bigint",
  replay_of: "uuid",
  attempt: "int",
  attempts: "int",
  retry_after_seconds: "int",
  deadline_at: "timestamptz",
  accepted_at: "timestamptz",
  traceparent: "text",
  idempotency_key: "text",
  idempotency_expires_at: "timestamptz",
  request_hash: "bytea"
} as const

/** A field of `NewRun` that has no line here does not compile. */
const inputTypes = {
  ...storedTypes,
  ...limitTypes,
  window_key: "text",
  window_until: "timestamptz",
  ord: "int",
  admit: "boolean",
  token_hash: "bytea",
  version: "int",
  webhook_version: "int"
} as const satisfies {
  readonly [Name in keyof ReturnType<ReturnType<typeof toInput>>]-?: string
}

/** What an earlier run is found by. */
const keyTypes = {
  ord: "int",
  webhook_id: "uuid",
  team: "text",
  idempotency_key: "text",
  accepted_at: "timestamptz"
} as const

const isKeyedTrigger = ({ idempotency, webhook }: NewRun) => idempotency !== undefined && webhook !== undefined
const isKeyedMessage = ({ idempotency, webhook }: NewRun) => idempotency !== undefined && webhook === undefined

/** The run that a key named before. */
interface Earlier {
  readonly ord: number
  readonly run_id: string
  readonly deadline_at: RunRow["deadline_at"]
  readonly request_hash: Uint8Array
  readonly expired: boolean
}

/** What the runs of one call need of the statement. */
interface Shape extends LimitsShape {
  readonly coalesces: boolean
  readonly keyedTriggers: boolean
  readonly keyedMessages: boolean
}

const shapeOf = (runs: ReadonlyArray<NewRun>, isCounted: (webhook: NewRunWebhook) => boolean): Shape => ({
  countsOwn: runs.some(({ webhook }) => webhook?.max_queued !== undefined && isCounted(webhook)),
  rates: runs.some(({ webhook }) => webhook?.rate !== undefined),
  coalesces: runs.some(isCoalescing),
  keyedTriggers: runs.some(isKeyedTrigger),
  keyedMessages: runs.some(isKeyedMessage)
})

/** What became of a run. */
interface Inserted {
  readonly outcome: "accepted" | "admitted" | "unknown" | "edited" | "full" | "webhook full" | "rate" | "repeats"
  readonly retry_after_ms: number | null
  readonly ahead: string | null
}

/** Of a run that waits. */
const waits = ({ ahead }: Inserted): Answer => {
  const ids = ahead?.split(" ").filter(Boolean) as ReadonlyArray<RunId> | undefined
  return Either.right({ _tag: "Accepted", admitted: false, ...(ids && ids.length <= mostAhead && { ahead: ids }) })
}

/** Why a run does not fit, unless it repeats an earlier one. */
const limitOf = ({ outcome, retry_after_ms }: Inserted, { webhook }: NewRun, maxQueued: number): Answer | undefined => {
  switch (outcome) {
    case "full":
      return Either.left(new TooManyQueued({ of: "server", limit: maxQueued }))
    case "webhook full":
      return Either.left(new TooManyQueued({ of: "webhook", limit: webhook!.max_queued! }))
    case "rate":
      return Either.left(new RateLimited({ rate: webhook!.rate!, retry_after_ms: retry_after_ms! }))
    case "accepted":
    case "admitted":
    case "unknown":
    case "edited":
    case "repeats":
      return undefined
  }
}

/** How often an idempotency key may turn out to be taken, and then again to be free, in one call. */
const attempts = 5

/** `RunStore.accept`, the hand-over: the runs of one call are checked and written by one statement, with one commit. */
export const makeAccept = Effect.fnUntraced(function* (notifySoon: NotifySoon) {
  const sql = yield* SqlClient.SqlClient

  const columns = list([...Object.keys(storedTypes), "webhook_version"])
  const values = sql.csv([
    ...Object.entries(storedTypes).map(([name, type]) =>
      name === "deadline_at" ? deadlineAtAcceptance(sql) : sql.literal(`r.${name}::${type}`)
    ),
    sql`coalesce(r.webhook_version, r.version)`
  ])

  /** A run `r` that the key of an input `i` names: of its webhook, or for a message of its team's messages. */
  const namedByTrigger = sql`r.webhook_id = i.webhook_id and r.idempotency_key = i.idempotency_key`
  const namedByMessage = sql`
    i.webhook_id is null and r.webhook_id is null and r.team = i.team and r.idempotency_key = i.idempotency_key`

  /** Whether the key of an input `i` names a run: its own, or the one that it became. */
  const isKnown = ({ keyedMessages, keyedTriggers }: Shape) => {
    const ofTriggers = [
      sql`exists (select from webhook_trigger.runs r where ${namedByTrigger})`,
      sql`exists (
        select from webhook_trigger.window_deliveries d
        where d.webhook_id = i.webhook_id and d.idempotency_key = i.idempotency_key and d.expires_at > i.accepted_at
      )`
    ]
    const ofMessages = sql`exists (select from webhook_trigger.runs r where ${namedByMessage})`
    const ways = [...(keyedTriggers ? ofTriggers : []), ...(keyedMessages ? [ofMessages] : [])]
    return ways.length === 0 ? sql`false` : sql.or(ways)
  }

  /** Of the runs that are inserted at once with one key, by other servers too, one is. */
  const unlessKnown = ({ keyedMessages }: Shape) =>
    keyedMessages
      ? sql`on conflict do nothing`
      : sql`on conflict (webhook_id, idempotency_key) where idempotency_key is not null do nothing`

  // Anyone who deletes a webhook, deletes or pauses a team, or replaces a token, either waits for this commit or is seen by it.
  const insert = (runs: ReadonlyArray<NewRun>, options: AcceptOptions) => {
    const { admission, countQueued = true, countQueuedOf, maxQueued } = options
    const isCounted = ({ id }: NewRunWebhook) => countQueuedOf === undefined || countQueuedOf.has(id)
    const shape = shapeOf(runs, isCounted)
    const { limited, consumed } = webhookLimits(sql, shape)
    const windows = windowsOf(sql, shape.coalesces)
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
          h.version is distinct from i.version as edited, ${isKnown(shape)} as repeats,
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
      ), ${windows.opened} inserted as (
        insert into webhook_trigger.runs (${columns}, admitted_at${windows.columns})
        select ${values}, admitted_at${windows.values} from placed r where fits ${windows.hasOpened} order by ord
        ${unlessKnown(shape)}
        returning id, team, admitted_at
      ), ${retried} ${consumed} ${
        admission ? sql`notified as (select)` : notify(sql, "RunAccepted", sql`select team as name from inserted`)
      }
      select case
          when not c.known then 'unknown'
          when c.edited and not c.repeats then 'edited'
          when i.admitted_at is not null then 'admitted'
          when i.id is not null then 'accepted'
          when p.refusal is not null then p.refusal
          when not p.fits then 'full'
          else 'repeats'
        end as outcome, p.retry_after_ms, c.ahead, (select count(*) from notified) ${reported}
      from checked c left join placed p using (ord) left join inserted i on i.id = c.id
      order by c.ord`)
  }

  /** What their keys named before, by their places in `runs`. */
  const findEarlier = (runs: ReadonlyArray<NewRun>) => {
    const find = (isNamed: Statement.Fragment) =>
      bounded(sql`
        select i.ord, ${runColumns}, r.request_hash, r.idempotency_expires_at <= i.accepted_at as expired
        from ${recordset(sql, keyTypes, runs.map(toInput()))}
        join webhook_trigger.runs r on ${isNamed}`)
    const kinds = [
      ...(runs.some(isKeyedTrigger) ? [namedByTrigger] : []),
      ...(runs.some(isKeyedMessage) ? [namedByMessage] : [])
    ]
    return Effect.map(Effect.forEach(kinds, find), (found) =>
      found.flat().map((row) => ({ ...fromRow<Earlier>(row), run: runFromRow(row) }))
    )
  }

  /** An old key is free again; its run stays. */
  const free = (rows: ReadonlyArray<Earlier>) =>
    bounded(sql`
      update webhook_trigger.runs set idempotency_key = null
      where id = any(${runIds(sql, rows)})`)

  const coalesce = yield* makeCoalesce
  const findDelivered = yield* makeFindDelivered

  return Effect.fnUntraced(function* (runs: ReadonlyArray<NewRun>, options: AcceptOptions) {
    const answers = new Map<NewRun, Answer>()
    let open = runs
    let hasInserted = false
    const step = <A>(effect: Effect.Effect<A, Unavailable>) =>
      hasInserted ? Effect.mapError(effect, partlyDone) : effect
    for (let attempt = 0; open.length > 0; attempt++) {
      if (attempt === attempts) return yield* unavailable("The idempotency key, or the window, is in dispute.")
      const joining = yield* step(coalesce(open))
      for (const [run, answer] of joining) answers.set(run, answer)
      if (joining.size > 0) notifySoon(joinedOf(joining.values()))
      open = open.filter((run) => !answers.has(run))
      if (open.length === 0) break
      const heads = firstOfEachKey(open)
      const rows = yield* step(insert([...heads.values()], options))
      hasInserted = true
      const outcomeOf = new Map([...heads].map(([key, head], ord) => [key, { head, inserted: rows[ord]! }]))
      const limitFor = (run: NewRun) => limitOf(outcomeOf.get(keyOf(run))!.inserted, run, options.maxQueued)

      const doubtful = open.filter((run) => {
        const { head, inserted } = outcomeOf.get(keyOf(run))!
        const { outcome } = inserted
        const limit = run.idempotency === undefined ? limitFor(run) : undefined
        if (outcome === "unknown") answers.set(run, Either.left(new NotFound()))
        else if (outcome === "edited") answers.set(run, Either.left(new WebhookEdited()))
        else if (outcome === "accepted" && run === head) answers.set(run, waits(inserted))
        else if (outcome === "admitted" && run === head) answers.set(run, admitted)
        else if (limit !== undefined) answers.set(run, limit)
        return !answers.has(run)
      })
      notifySoon(changesOf(answers, open, options))
      if (doubtful.length === 0) break

      // What these keys named before, in an earlier call or in this one.
      const found = yield* step(findEarlier(doubtful))
      const earlierOf = new Map(found.map((earlier) => [doubtful[earlier.ord]!, earlier]))
      const others = doubtful.filter((run) => run.idempotency !== undefined && !earlierOf.has(run))
      if (others.length > 0) for (const [run, answer] of yield* step(findDelivered(others))) answers.set(run, answer)
      open = doubtful.filter((run) => {
        const earlier = earlierOf.get(run)
        const limit = earlier === undefined && !answers.has(run) ? limitFor(run) : undefined
        if (earlier && !earlier.expired) answers.set(run, repeated(earlier, run))
        else if (limit !== undefined) answers.set(run, limit)
        return !answers.has(run)
      })
      const expired = found.filter((earlier) => earlier.expired)
      if (expired.length > 0) yield* step(free(expired))
    }
    return runs.map((run) => answers.get(run)!)
  }, whenTraced("RunStore.accept"))
})

/** Some of the runs are inserted, even though a later statement failed. */
const partlyDone = ({ detail }: Unavailable): Unavailable => unavailable(detail)

/** The runs that triggers have joined. */
const joinedOf = (answers: Iterable<Answer>): ReadonlyArray<Change> =>
  Array.from(answers).flatMap((answer) =>
    Either.isRight(answer) && answer.right._tag === "Coalesced" && !answer.right.repeated
      ? { _tag: "RunChanged", run_id: answer.right.run_id }
      : []
  )

/** What is left to be notified of these runs: unless the dispatcher has accepted them, the statement has notified it. */
const changesOf = (
  answers: ReadonlyMap<NewRun, Answer>,
  runs: ReadonlyArray<NewRun>,
  { admission }: AcceptOptions
): ReadonlyArray<Change> =>
  admission === undefined
    ? []
    : runs.flatMap((run) => {
        const answer = answers.get(run)
        if (answer === undefined || Either.isLeft(answer) || answer.right._tag !== "Accepted") return []
        const { admitted, ahead } = answer.right
        return { _tag: admitted || ahead !== undefined ? "RunAdmitted" : "RunAccepted", team: run.team }
      })

/** Runs with one idempotency key, or in one window, are one run, until it is known what became of it. */
const firstOfEachKey = (runs: ReadonlyArray<NewRun>): ReadonlyMap<string, NewRun> => {
  const heads = new Map<string, NewRun>()
  for (const run of runs) if (!heads.has(keyOf(run))) heads.set(keyOf(run), run)
  return heads
}

const keyOf = ({ run_id, webhook, team, idempotency, coalesce }: NewRun): string => {
  if ((idempotency ?? coalesce) === undefined) return run_id
  if (webhook === undefined) return `message ${team} ${idempotency!.key}`
  const by = `${webhook.id} ${Buffer.from(webhook.token_hash).toString("hex")}`
  return coalesce === undefined ? `${by} ${idempotency!.key}` : `${by} ${team} ${coalesce.key}`
}

const repeated = (
  { request_hash, run, deadline_at }: Earlier & { readonly run: Extract<Acceptance, { _tag: "Repeated" }>["run"] },
  { idempotency }: NewRun
): Answer =>
  idempotency && Buffer.from(request_hash).equals(idempotency.request_hash)
    ? Either.right({ _tag: "Repeated", run, ...(deadline_at && { deadline_at }) })
    : Either.left(new IdempotencyKeyReused())
