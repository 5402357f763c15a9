import { Effect, Option } from "effect"
import { IdempotencyKeyReused, NotFound, TooManyQueued } from "../../domain/Errors.ts"
import type { RunId, WebhookId } from "../../domain/Id.ts"
import { isFinal, type Outcome, type Run } from "../../domain/Run.ts"
import type { TeamName } from "../../domain/Team.ts"
import { decodeCursor, encodeCursor } from "../Cursor.ts"
import type { Acceptance, Dispatchable, Ending, NewRun, RunQuery } from "../Repo.ts"
import { storable, toDispatchable, toRun } from "../RunRow.ts"
import type { StoredRun } from "./RepoMemoryRunTable.ts"
import { sameBytes, type Tables } from "./RepoMemoryTables.ts"

/** The part of the memory `Repo` that keeps runs: each method is one synchronous step, so each is atomic. */
export const makeRuns = ({ webhooks, teams, runs, publish }: Tables) => {
  const accept = (run: NewRun, { max_queued }: { readonly max_queued: number }) =>
    Effect.suspend((): Effect.Effect<Acceptance, NotFound | TooManyQueued | IdempotencyKeyReused> => {
      const webhook = run.webhook && webhooks.get(run.webhook.id)
      const known =
        run.webhook === undefined || (webhook?.enabled && sameBytes(webhook.token_hash, run.webhook.token_hash))
      if (!known || !teams.has(run.team)) return Effect.fail(new NotFound())
      const now = run.accepted_at.getTime()
      if (webhook && run.idempotency) {
        const earlier = runs.withKey(webhook.id, run.idempotency.key)
        if (earlier?.idempotency && earlier.idempotency.expires_at > now) {
          return sameBytes(earlier.idempotency.request_hash, run.idempotency.request_hash)
            ? Effect.succeed({
                _tag: "repeated",
                run: toRun(earlier),
                ...(earlier.deadline_at && { deadline_at: earlier.deadline_at })
              })
            : Effect.fail(new IdempotencyKeyReused())
        }
      }
      if (runs.queued() >= max_queued) return Effect.fail(new TooManyQueued({ limit: max_queued }))
      runs.insert({
        id: run.run_id,
        source: run.source,
        webhook_id: run.webhook?.id ?? null,
        team: run.team,
        mode: run.mode,
        status: "queued",
        prompt: storable(run.prompt),
        variables: run.variables,
        response: null,
        error_code: null,
        error_message: null,
        timeout_ms: run.timeout_ms,
        deadline_at: run.deadline_at ?? null,
        accepted_at: run.accepted_at,
        admitted_at: null,
        sent_at: null,
        started_at: null,
        finished_at: null,
        ...(run.idempotency && {
          idempotency: {
            key: run.idempotency.key,
            request_hash: run.idempotency.request_hash,
            expires_at: now + run.idempotency.ttl_ms
          }
        })
      })
      publish({ _tag: "RunAccepted", team: run.team })
      return Effect.succeed({ _tag: "accepted" })
    })

  const run = (id: RunId) =>
    Effect.suspend(() => {
      const row = runs.get(id)
      return row ? Effect.succeed(toRun(row)) : Effect.fail(new NotFound())
    })

  const page = (query: RunQuery) =>
    Effect.gen(function* () {
      const before = Option.getOrElse(yield* decodeCursor(query.cursor), () => Number.POSITIVE_INFINITY)
      if (!webhooks.has(query.webhook_id)) return yield* new NotFound()
      const rows = runs
        .history(query.webhook_id)
        .filter((row) => row.seq < before && (query.status === undefined || row.status === query.status))
        .filter(
          ({ accepted_at }) => accepted_at >= (query.from ?? accepted_at) && !(query.to && accepted_at >= query.to)
        )
        .slice(-query.limit - 1)
        .reverse()
      const data = rows.slice(0, query.limit)
      const last = data.at(-1)
      return { data: data.map(toRun), next_cursor: last && rows.length > query.limit ? encodeCursor(last.seq) : null }
    })

  const ended = (ids: ReadonlyArray<RunId>) =>
    Effect.sync(() => {
      const rows = ids.flatMap((id) => runs.get(id) ?? [])
      return {
        runs: rows.filter((row) => isFinal(row.status)).map(toRun),
        gone: ids.filter((id) => runs.get(id) === undefined)
      }
    })

  const dispatchable = (row: StoredRun): Dispatchable => {
    const webhook = row.webhook_id === null ? undefined : webhooks.get(row.webhook_id)
    return toDispatchable({
      ...row,
      webhook_name: webhook?.name ?? null,
      max_concurrent: webhook?.max_concurrent ?? null
    })
  }
  const lane = (team: TeamName, limit: number) =>
    Effect.sync(() => {
      const heads: Array<Dispatchable> = []
      for (const row of runs.lane(team)) {
        if (heads.length === limit) break
        heads.push(dispatchable(row))
      }
      return heads
    })

  const sent = (id: RunId, at: Date) =>
    Effect.sync(() => {
      const row = runs.get(id)
      if (!row || isFinal(row.status) || row.admitted_at === null) return
      if (row.started_at !== null) {
        const sent_at = row.sent_at ?? new Date(Math.min(at.getTime(), row.started_at.getTime()))
        return runs.update(row, { status: "running", sent_at })
      }
      runs.update(row, { status: "running", sent_at: at, deadline_at: clockFrom(row, at) })
    })

  const started = (id: RunId, at: Date) =>
    Effect.sync(() => {
      const row = runs.get(id)
      if (!row || isFinal(row.status) || row.admitted_at === null || row.started_at !== null) return
      runs.update(row, { status: "running", started_at: at, deadline_at: clockFrom(row, at) })
      publish({ _tag: "RunStarted", run_id: id })
    })

  const record = (row: StoredRun, outcome: Outcome, at: Date) => {
    const answered =
      outcome.status === "success" || (outcome.status === "error" && outcome.error.code === "agent_error")
    runs.update(row, {
      status: outcome.status,
      response: outcome.status === "success" ? storable(outcome.response) : null,
      error_code: outcome.status === "error" ? outcome.error.code : null,
      error_message: outcome.status === "error" ? storable(outcome.error.message) : null,
      started_at: row.started_at ?? row.sent_at ?? (answered ? row.admitted_at : null),
      finished_at: at
    })
    publish({ _tag: "RunEnded", run_id: row.id })
  }

  const end = (id: RunId, outcome: Outcome, at: Date): Effect.Effect<Ending> =>
    Effect.sync(() => {
      const row = runs.get(id)
      if (!row) return { recorded: false, run: Option.none() }
      const recorded = !isFinal(row.status)
      if (recorded) record(row, outcome, at)
      else if (row.status === "timeout" && row.response === null && outcome.status === "success") {
        runs.update(row, { response: storable(outcome.response) })
      }
      return { recorded, run: Option.some(toRun(row)) }
    })

  /** A later deadline for a prompt that lies in the queue while its team works, or until just now worked, on another. */
  const laterDeadline = (row: StoredRun, now: Date): Date | undefined => {
    if (row.mode !== "async" || row.sent_at === null || row.started_at !== null) return undefined
    const sentAt = row.sent_at
    const others = [...runs.all()].filter((other) => other.team === row.team && other.seq < row.seq)
    const working = others.flatMap(({ status, started_at, deadline_at }) =>
      status === "running" && started_at !== null && deadline_at !== null && deadline_at > now
        ? deadline_at.getTime()
        : []
    )
    const answered = others.flatMap(({ status, finished_at }) =>
      (status === "success" || status === "error") && finished_at !== null && finished_at > sentAt
        ? finished_at.getTime()
        : []
    )
    const from = working.length > 0 ? working : answered
    const later = new Date(from.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY) + row.timeout_ms)
    return later > now ? later : undefined
  }

  const expire = (now: Date): Effect.Effect<ReadonlyArray<Run>> =>
    Effect.sync(() => {
      const due = runs.live().filter((row) => row.deadline_at !== null && row.deadline_at <= now)
      const fates = due.map((row) => ({ row, later: laterDeadline(row, now) }))
      return fates.flatMap(({ row, later }) => {
        if (later !== undefined) {
          runs.update(row, { deadline_at: later })
          return []
        }
        record(row, { status: "timeout" }, now)
        return [toRun(row)]
      })
    })

  const purge = (before: Date) =>
    Effect.sync(() => {
      const old = [...runs.all()].filter((row) => row.finished_at !== null && row.finished_at < before)
      for (const row of old) runs.remove(row)
      return old.length
    })

  return {
    accept,
    run,
    runs: page,
    ended,
    lanes: Effect.sync(() => runs.lanes()),
    lane,
    inFlight: Effect.sync(() => runs.inFlight().map(dispatchable)),
    sent,
    started,
    end,
    expire,
    purge
  }
}

const clockFrom = (row: StoredRun, at: Date): Date | null =>
  row.mode === "async" ? new Date(at.getTime() + row.timeout_ms) : row.deadline_at

/** The webhooks' limits as they are now. */
export const limitsOf =
  ({ webhooks }: Tables) =>
  (ids: ReadonlyArray<WebhookId>): Effect.Effect<ReadonlyMap<WebhookId, number>> =>
    Effect.sync(
      () =>
        new Map(
          ids.flatMap((id) => {
            const limit = webhooks.get(id)?.max_concurrent
            return limit === undefined ? [] : [[id, limit] as const]
          })
        )
    )
