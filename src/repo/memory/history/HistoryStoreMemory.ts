import { Array, type Context, DateTime, Duration, Effect, Option } from "effect"
import { NotFound } from "../../../domain/Errors.ts"
import type { WebhookId } from "../../../domain/Id.ts"
import { type RunRow, toRun } from "../../../domain/run/Run.ts"
import { toRunState } from "../../../domain/run/RunState.ts"
import { finalStatuses, isFinal, isUnreleased } from "../../../domain/run/RunStatus.ts"
import type { Counts } from "../../../domain/run/Statistics.ts"
import { addUsage, noUsage, usageOfOne } from "../../../domain/run/UsageSum.ts"
import { decodeCursor, decodeIdCursor, encodeCursor } from "../../history/Cursor.ts"
import { HistoryStore } from "../../history/HistoryStore.ts"
import { fulfils, type RunFilter, type RunQuery, searchedId } from "../../history/RunQuery.ts"
import { isRunOf } from "../access/OwnerStoreMemory.ts"
import { makeWebhookLimits } from "../run/WebhookLimitsMemory.ts"
import {
  isAfter,
  isInFlight,
  isInLane,
  isWaiting,
  orNotFound,
  type StoredRun,
  sameBytes,
  summaries,
  type Tables
} from "../Tables.ts"

export const makeHistoryStore = (tables: Tables): Context.Tag.Service<HistoryStore> => {
  const { find, remove, webhooks, where } = tables
  const limits = makeWebhookLimits(tables)
  const buckets = (id: WebhookId, since: DateTime.Utc, step: Duration.Duration) => {
    const recent = where((row) => row.webhook_id === id && !isAfter(since, row.accepted_at)).map(({ row }) => row)
    const bucket = ({ accepted_at }: RunRow) => DateTime.distance(since, accepted_at) / Duration.toMillis(step)
    const grouped = Array.groupBy(recent, (row) => String(Math.floor(bucket(row))))
    return Object.entries(grouped).map(([bucket, rows]) => ({ bucket: Number(bucket), rows }))
  }

  const isFound = (row: RunRow, filter: RunFilter, searching: boolean) =>
    fulfils(row, filter, searching) && isRunOf(tables, row, filter.owners)

  const pageOf = ({ limit, cursor, ...filter }: RunQuery) =>
    Effect.gen(function* () {
      const { webhook_id } = filter
      const ofWebhook = webhook_id !== undefined
      const bySeq = ofWebhook || filter.thread_id !== undefined
      const place = ({ row, seq }: StoredRun): number | string => (bySeq ? seq : row.run_id)
      const decoded: Option.Option<number | string> = yield* bySeq ? decodeCursor(cursor) : decodeIdCursor(cursor)
      const before = Option.getOrUndefined(decoded)
      if (ofWebhook && !webhooks.has(webhook_id)) return yield* new NotFound()
      const id = before === undefined ? searchedId(filter) : undefined
      const named = id === undefined ? [] : where((row) => row.run_id === id && isFound(row, filter, false))
      if (named.length > 0) return { data: named, next_cursor: null }
      const found = where((row) => isFound(row, filter, true))
        .filter((run) => before === undefined || place(run) < before)
        .sort((a, b) => (place(a) < place(b) ? 1 : -1))
      const page = found.slice(0, limit)
      const last = page.at(-1)
      return {
        data: page,
        next_cursor: last && found.length > limit ? encodeCursor(place(last)) : null
      }
    })

  return HistoryStore.of({
    run: (id) =>
      orNotFound(
        () => find(id),
        ({ row }) => toRun(row)
      ),
    runs: (query) => Effect.map(pageOf(query), ({ data, ...page }) => ({ ...page, data: summaries(data) })),
    usage: (filter) =>
      Effect.suspend(() => {
        const { webhook_id } = filter
        if (webhook_id !== undefined && !webhooks.has(webhook_id)) return new NotFound()
        const id = searchedId(filter)
        const named = id === undefined ? [] : where((row) => row.run_id === id && isFound(row, filter, false))
        const found = named.length > 0 ? named : where((row) => isFound(row, filter, true))
        return Effect.succeed(found.map(({ row }) => usageOfOne(row.report?.usage)).reduce(addUsage, noUsage))
      }),
    runsByIds: (ids) =>
      Effect.sync(() =>
        where((row) => ids.includes(row.run_id)).map(({ row, layout }) => ({
          ...toRun(row),
          ...(layout && { layout })
        }))
      ),
    replays: (id, limit, owners) =>
      Effect.sync(() =>
        summaries(
          where((row) => row.replay_of === id && isRunOf(tables, row, owners))
            .toReversed()
            .slice(0, limit)
        )
      ),
    replayable: ({ of, owners, statuses, from, to, except, limit }) =>
      Effect.sync(() => {
        const counts = ({ idempotency: given }: StoredRun) =>
          !(except && given?.key.startsWith(except.keyPrefix) && sameBytes(given.request_hash, except.request_hash))
        const repeated = new Set(tables.runs.filter(counts).map(({ row }) => row.replay_of))
        const isOf = ({ team, webhook_id }: RunRow) =>
          "webhook_id" in of
            ? webhook_id === of.webhook_id
            : (webhook_id === undefined ? team : webhooks.get(webhook_id)?.team) === of.team
        return where(
          (row) =>
            isOf(row) &&
            isRunOf(tables, row, owners) &&
            isFinal(row.status) &&
            statuses.includes(row.status) &&
            !row.retry_at
        )
          .filter(counts)
          .filter(({ row }) => !(from && isAfter(from, row.accepted_at)) && (!to || isAfter(to, row.accepted_at)))
          .flatMap(({ row }) => (repeated.has(row.run_id) ? [] : row.run_id))
          .slice(0, limit)
      }),
    teamRuns: (team, limit) =>
      Effect.sync(() =>
        summaries(
          where((row) => row.team === team && (!row.webhook_id || webhooks.get(row.webhook_id)?.team === team))
            .toReversed()
            .slice(0, limit)
        )
      ),
    states: ({ run_ids, teams, since, limit }) =>
      Effect.sync(() => {
        const newest = teams.flatMap((team) => {
          const live = where((row) => row.team === team && !isFinal(row.status)).toReversed()
          return [true, false].flatMap((waits) => live.filter(({ row }) => isWaiting(row) === waits).slice(0, limit))
        })
        const ids = new Set<string>(run_ids)
        for (const { row } of newest) if (!isAfter(since, row.accepted_at)) ids.add(row.run_id)
        return where((row) => ids.has(row.run_id)).map(({ row }) => toRunState(row))
      }),
    activity: (since, step) =>
      Effect.sync(() =>
        [...webhooks.keys()].flatMap((webhook_id) =>
          buckets(webhook_id, since, step).map(({ bucket, rows }) => ({
            webhook_id,
            bucket,
            ...counts(rows),
            ...usageOf(rows)
          }))
        )
      ),
    statistics: (id, since, step) =>
      Effect.sync(() =>
        buckets(id, since, step).map(({ bucket, rows }) => ({
          bucket,
          ...counts(rows),
          ...durations(rows),
          ...usageOf(rows)
        }))
      ),
    dayUse: (id, at) => Effect.sync(() => limits.dayUse(id, at)),
    slots: (id) =>
      Effect.sync(() => ({
        slots_in_use: where((row) => row.webhook_id === id && isInFlight(row)).length,
        queued: where((row) => row.webhook_id === id && isWaiting(row)).length
      })),
    ahead: (id, most) =>
      Effect.sync(() => {
        const own = find(id)
        if (own === undefined || !isInLane(own)) return 0
        const inFront = tables.runs.filter(
          (run) => run.row.team === own.row.team && isInLane(run) && run.place! < own.place!
        )
        return Math.min(most, inFront.length)
      }),
    rollUp: () => Effect.succeed(false),
    purge: (before) =>
      Effect.sync(() => {
        const pending = tables.deliveries.filter(
          ({ row }) => row.status === "pending" && tables.destinations.get(row.destination_id)?.paused !== true
        )
        const wanted = new Set(pending.map(({ row }) => row.run_id))
        return remove(
          ({ finished_at, retry_at, run_id, ...row }) =>
            !!finished_at && !retry_at && !isUnreleased(row) && !wanted.has(run_id) && isAfter(before, finished_at)
        )
      })
  })
}

const counts = (rows: ReadonlyArray<RunRow>): Counts => ({
  ...(Object.fromEntries(
    finalStatuses.map((status) => [status, rows.filter((row) => row.status === status).length])
  ) as Omit<Counts, "live">),
  live: rows.filter((row) => !isFinal(row.status)).length
})

const usageOf = (rows: ReadonlyArray<RunRow>) => {
  const { runs: _, ...usage } = rows.map(({ report }) => usageOfOne(report?.usage)).reduce(addUsage, noUsage)
  return usage.reported > 0 ? { usage } : {}
}

const durations = (rows: ReadonlyArray<RunRow>) => {
  const sorted = rows
    .flatMap((row) => (row.status === "success" ? (toRun(row).duration_ms ?? []) : []))
    .sort((a, b) => a - b)
  if (sorted.length === 0) return {}
  const median_ms = (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2
  return { median_ms, slowest_ms: sorted.at(-1)! }
}
