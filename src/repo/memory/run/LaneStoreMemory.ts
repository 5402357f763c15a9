import { type Context, DateTime, Effect } from "effect"
import type { WebhookId } from "../../../domain/Id.ts"
import { isUnreleased } from "../../../domain/run/RunStatus.ts"
import { type LaneRun, LaneStore } from "../../run/LaneStore.ts"
import { byPlace, clockFrom, isAfter, isInFlight, isInLane, isWaiting, type StoredRun, type Tables } from "../Tables.ts"
import { makeAdmit } from "./AdmitMemory.ts"
import { endCollecting } from "./EndMemory.ts"
import { makeHeld } from "./LeaseStoreMemory.ts"
import { makeThreadsOf } from "./ThreadsMemory.ts"

export const makeLaneStore = (tables: Tables): Context.Tag.Service<LaneStore> => {
  const { find, isPaused, joinedKeys, notify, webhooks, where, windows } = tables
  const laneRun = ({ row, layout }: StoredRun): LaneRun => {
    const {
      run_id,
      source,
      team,
      mode,
      status,
      prompt,
      timeout_ms,
      deadline_at,
      stop_at,
      thread_key,
      traceparent,
      accepted_at
    } = row
    const webhook = row.webhook_id && webhooks.get(row.webhook_id)
    const { id, name, max_concurrent, max_cost_per_day } = webhook || {}
    const isReplay = row.replay_of !== undefined && (row.attempt ?? 1) === 1
    return {
      ...{ run_id, source, team, mode, status, prompt, timeout_ms, accepted_at },
      ...(deadline_at && { deadline_at }),
      ...(stop_at && { stop_at }),
      ...(traceparent && { traceparent }),
      ...(thread_key !== undefined && { thread_key }),
      ...(layout && { layout }),
      ...(id &&
        name && {
          webhook: {
            ...{ id, name },
            ...(max_concurrent && { max_concurrent }),
            ...(max_cost_per_day && !isReplay && { max_cost_per_day })
          }
        })
    }
  }

  const admit = makeAdmit(tables)
  const held = makeHeld(tables)
  const threadsOf = makeThreadsOf(tables)

  return LaneStore.of({
    queued: (most, ids = []) =>
      Effect.sync(() => {
        const waiting = where(isWaiting)
        const ofWebhook = (id: WebhookId) => waiting.filter(({ row }) => row.webhook_id === id).length
        const webhooks = ids.map((id) => [id, ofWebhook(id)] as const).filter(([, runs]) => runs > 0)
        return { all: Math.min(most, waiting.length), webhooks: new Map(webhooks) }
      }),
    lanes: Effect.sync(() =>
      [
        ...new Set(tables.runs.filter((run) => isInLane(run) && !isPaused(run.row.team)).map(({ row }) => row.team))
      ].sort()
    ),
    lane: (team, limit) =>
      Effect.sync(() =>
        tables.runs
          .filter((run) => run.row.team === team && isInLane(run) && !isPaused(team))
          .sort(byPlace)
          .slice(0, limit)
          .map(laneRun)
      ),
    closeWindows: (now) =>
      Effect.sync(() => {
        const over = [...windows].filter(([, { until }]) => !isAfter(until, now))
        for (const [key, { run_id }] of over.sort(([, a], [, b]) => DateTime.distance(b.until, a.until))) {
          windows.delete(key)
          const run = find(run_id)
          if (!run || !isWaiting(run.row)) continue
          run.place = ++tables.drawn
          endCollecting(run)
          notify({ _tag: "RunChanged", run_id })
        }
        for (const [key, { expires_at }] of joinedKeys) if (!isAfter(expires_at, now)) joinedKeys.delete(key)
      }),
    inFlight: Effect.sync(() =>
      where((row) => isInFlight(row) || isUnreleased(row))
        .sort(byPlace)
        .map(laneRun)
    ),
    forgetSent: (at) =>
      Effect.sync(() => {
        tables.runs = tables.runs.map((run) => {
          if (isUnreleased(run.row)) return { ...run, row: { ...run.row, released_at: at } }
          if (!isInFlight(run.row)) return run
          const { sent_at: _, started_at: __, ...row } = run.row
          return { ...run, row: { ...row, status: "queued", ...clockFrom(row, at) } }
        })
      }),
    admit: (events, mine, now) => Effect.map(held(mine), () => admit(events, now)),
    threadsOf: (ids) => Effect.sync(() => threadsOf(ids)),
    limits: (ids) =>
      Effect.sync(() => {
        const found = ids.map((id) => [id, webhooks.get(id)?.max_concurrent] as const)
        return new Map(found.flatMap(([id, limit]) => (limit === undefined ? [] : [[id, limit]])))
      })
  })
}
