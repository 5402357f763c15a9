import { randomUUID } from "node:crypto"
import { type Context, DateTime, Effect, Option } from "effect"
import type { EventDelivery } from "../../../domain/delivery/Delivery.ts"
import type { DestinationRow } from "../../../domain/delivery/Destination.ts"
import { eventOfStatus, startEvent } from "../../../domain/delivery/DestinationEvent.ts"
import { kindOf } from "../../../domain/delivery/DestinationKind.ts"
import type { DeliveryId, DestinationId, RunId } from "../../../domain/Id.ts"
import { type RunRow, toRun } from "../../../domain/run/Run.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import type { AlertChanges } from "../../alert/AlertChanges.ts"
import { bucketOf } from "../../delivery/CallerBucket.ts"
import {
  type AttemptResult,
  type DeliveryQuery,
  DeliveryStore,
  type DueDelivery,
  type InProgress,
  movedAttempt,
  storedAttempts
} from "../../delivery/DeliveryStore.ts"
import { decodeCursor, encodeCursor } from "../../history/Cursor.ts"
import { isRunOf } from "../access/OwnerStoreMemory.ts"
import { isAfter, orNotFound, storableFields, type Tables } from "../Tables.ts"

/** A delivery as it is stored. */
export interface StoredDelivery {
  row: EventDelivery
  readonly seq: number
  /** How many attempts of the schedule were made. */
  made: number
  readonly bucket: number
  claimedUntil: DateTime.Utc | undefined
}

/** Writes a delivery that is due at once. */
export const addDelivery = (
  tables: Tables,
  destination_id: DestinationId,
  at: DateTime.Utc,
  about: Pick<EventDelivery, "alert_id" | "event" | "run_id" | "webhook_id">,
  { due = at, bucket = 0 }: { readonly due?: DateTime.Utc; readonly bucket?: number } = {}
): void => {
  tables.deliveries.push({
    row: {
      id: randomUUID() as DeliveryId,
      destination_id,
      ...about,
      status: "pending",
      created_at: at,
      next_attempt_at: due,
      attempts: []
    },
    seq: ++tables.drawn,
    made: 0,
    bucket,
    claimedUntil: undefined
  })
}

/** Writes the deliveries of an alert to alert destinations: to these, or to all. */
export const deliverAlert = (
  tables: Tables,
  { alert, event }: AlertChanges["events"][number],
  destination_ids?: ReadonlyArray<DestinationId>
): void => {
  for (const { enabled, events, id, webhook_id } of tables.destinations.values()) {
    const isWanted = webhook_id === undefined && enabled && events.includes(event)
    if (!isWanted || destination_ids?.includes(id) === false) continue
    addDelivery(tables, id, alert.resolved_at ?? alert.notified_at!, { alert_id: alert.id, event })
    tables.notify({ _tag: "DeliveryDue" })
  }
}

const wantsStart = ({ enabled, events, webhook_id }: DestinationRow): boolean =>
  webhook_id !== undefined && enabled && events.includes(startEvent)

/** Writes the deliveries that a run has started, unless there are some; returns how many. */
const deliverStart = (tables: Tables, run: RunRow, now: DateTime.Utc): number => {
  const { callback_url, run_id, sent_at, webhook_id } = run
  if (sent_at === undefined || webhook_id === undefined) return 0
  const isKnown = (id: DestinationId) =>
    tables.deliveries.some(({ row }) => row.destination_id === id && row.run_id === run_id && row.event === startEvent)
  const wanted = [...tables.destinations.values()].filter(
    (one) =>
      one.webhook_id === webhook_id &&
      wantsStart(one) &&
      (one.kind !== "callback" || callback_url?.startsWith(one.url) === true) &&
      !isKnown(one.id)
  )
  for (const one of wanted) {
    const about = { webhook_id, run_id, event: startEvent } as const
    addDelivery(tables, one.id, sent_at, about, { due: now, bucket: bucketOf(one, callback_url) })
  }
  if (wanted.length > 0) tables.notify({ _tag: "DeliveryDue" })
  return wanted.length
}

/** Writes the deliveries of a run that has just ended. */
export const deliverEnd = (tables: Tables, run: RunRow): void => {
  const { callback_url, finished_at, retry_at, run_id, status, webhook_id } = run
  if (!isFinal(status) || webhook_id === undefined || finished_at === undefined) return
  deliverStart(tables, run, finished_at)
  const event = eventOfStatus[status]
  const wanted = [...tables.destinations.values()].filter(
    (one) =>
      one.webhook_id === webhook_id &&
      one.enabled &&
      one.events.includes(event) &&
      (one.kind !== "callback" || callback_url?.startsWith(one.url) === true) &&
      (one.kind !== "chain" || retry_at === undefined)
  )
  for (const one of wanted) {
    addDelivery(tables, one.id, finished_at, { webhook_id, run_id, event }, { bucket: bucketOf(one, callback_url) })
  }
  if (wanted.length > 0) tables.notify({ _tag: "DeliveryDue" })
}

/** The run says whether one of its deliveries has failed. */
export const showFailed = (tables: Tables, run_id: RunId): void => {
  const run = tables.find(run_id)
  if (run === undefined) return
  const { delivery_failed: _, ...row } = run.row
  const failed = tables.deliveries.some((one) => one.row.run_id === run_id && one.row.status === "failed")
  run.row = failed ? { ...row, delivery_failed: true } : row
}

const fail = (tables: Tables, delivery: StoredDelivery, finished_at: DateTime.Utc): void => {
  const { next_attempt_at: _, ...row } = delivery.row
  delivery.row = { ...row, status: "failed", finished_at }
  if (row.run_id !== undefined) showFailed(tables, row.run_id)
}

export const failPending = (tables: Tables, id: DestinationId, at: DateTime.Utc): void => {
  for (const delivery of tables.deliveries) {
    if (delivery.row.destination_id === id && delivery.row.status === "pending") fail(tables, delivery, at)
  }
}

const sharesComment = ({ kind }: DestinationRow): boolean => kindOf(kind).sharesComment === true

const release = (tables: Tables, ids: ReadonlyArray<DeliveryId>): void => {
  for (const [destination, { id }] of tables.writers) if (ids.includes(id)) tables.writers.delete(destination)
}

const isPaused = ({ enabled, paused = false, paused_until }: DestinationRow, now: DateTime.Utc): boolean =>
  !enabled || paused || (paused_until !== undefined && isAfter(paused_until, now))

type Bucket = Omit<InProgress, "attempts">

const ofBucket = ({ bucket, destination_id }: Bucket) => `${destination_id} ${bucket}`
const ofDestination = ({ destination_id }: Bucket) => destination_id
const ofCallbacks = ({ bucket }: Bucket) => String(bucket > 0)

/** Whether a delivery is among the first that its limit allows, with what is in progress. */
const upTo = (
  inProgress: ReadonlyArray<InProgress>,
  keyOf: (bucket: Bucket) => string,
  limitOf: (bucket: Bucket) => number
) => {
  const counts = new Map<string, number>()
  const count = (of: Bucket, more: number): number => {
    const total = (counts.get(keyOf(of)) ?? 0) + more
    counts.set(keyOf(of), total)
    return total
  }
  for (const one of inProgress) count(one, one.attempts)
  return ({ bucket, row: { destination_id } }: StoredDelivery): boolean => {
    const of = { destination_id, bucket }
    return count(of, 1) <= limitOf(of)
  }
}

export const makeDeliveryStore = (tables: Tables): Context.Tag.Service<DeliveryStore> => {
  /** Those of runs and webhooks that were deleted go with them. */
  const kept = () => {
    const runs = new Set(tables.runs.map(({ row }) => row.run_id))
    const exists = ({ alert_id, run_id }: EventDelivery) =>
      run_id === undefined ? tables.alerts.has(alert_id!) : runs.has(run_id)
    tables.deliveries = tables.deliveries.filter(
      ({ row }) => exists(row) && tables.destinations.has(row.destination_id)
    )
    return tables.deliveries
  }

  const isOfTeam = ({ run_id, webhook_id }: EventDelivery): boolean =>
    run_id === undefined ||
    webhook_id === undefined ||
    tables.find(run_id)?.row.team === tables.webhooks.get(webhook_id)?.team

  const isRunOfTeams = ({ run_id }: EventDelivery, owners: DeliveryQuery["owners"]): boolean =>
    run_id === undefined || isRunOf(tables, tables.find(run_id)!.row, owners)

  const record = (result: AttemptResult): void => {
    const found = kept().find(({ row }) => row.id === result.id && row.status === "pending")
    if (found === undefined) return
    const { next_attempt_at: _, ...row } = found.row
    const attempts = [...row.attempts, storableFields(result.attempt)].slice(-storedAttempts)
    found.made += 1
    found.claimedUntil = undefined
    found.row =
      typeof result.next === "object"
        ? { ...row, attempts, next_attempt_at: result.next.next_attempt_at }
        : { ...row, attempts, status: result.next, finished_at: result.attempt.at }
    if (row.run_id !== undefined) showFailed(tables, row.run_id)
  }

  /** Whether the attempts switched it off, or paused it. */
  const judge = (id: DestinationId, results: ReadonlyArray<AttemptResult>, failingBefore: DateTime.Utc): boolean => {
    const before = tables.destinations.get(id)
    if (before === undefined) return false
    const { failing_since, paused_until: _, ...rest } = before
    const isGone = results.some((result) => result.isGone)
    const delivers = results.some(({ next }) => next === "delivered")
    const isFailing = !delivers && failing_since !== undefined && isAfter(failingBefore, failing_since)
    const since = failing_since ?? results[0]!.attempt.at
    const pauses = results.flatMap(({ pausedUntil }) => pausedUntil ?? [])
    const [first, ...more] = pauses
    const paused_until = first && more.reduce(DateTime.max, first)
    tables.destinations.set(id, {
      ...rest,
      ...(!delivers && { failing_since: since, ...(paused_until && { paused_until }) }),
      ...(isGone && { enabled: false, disabled_reason: "gone" as const }),
      ...(isFailing && !isGone && { paused: true, disabled_reason: "failing" as const })
    })
    if (isGone) failPending(tables, id, results.at(-1)!.attempt.at)
    return isGone || (isFailing && before.paused !== true)
  }

  return DeliveryStore.of({
    anyWantsStarts: Effect.sync(() => [...tables.destinations.values()].some(wantsStart)),
    deliverStarts: (now) =>
      Effect.sync(() =>
        tables
          .where(({ status }) => status === "running")
          .reduce((sum, { row }) => sum + deliverStart(tables, row, now), 0)
      ),
    claimDeliveries: ({ inProgress, limit, now, until, ...limits }) =>
      Effect.sync(() => {
        const isWritten = (id: DestinationId) => {
          const writer = tables.writers.get(id)
          return writer !== undefined && isAfter(writer.until, now)
        }
        const isDue = ({ claimedUntil, row }: StoredDelivery) =>
          row.next_attempt_at !== undefined &&
          !isAfter(row.next_attempt_at, now) &&
          (claimedUntil === undefined || !isAfter(claimedUntil, now)) &&
          !isPaused(tables.destinations.get(row.destination_id)!, now) &&
          !isWritten(row.destination_id)
        for (const { enabled, id } of tables.destinations.values()) if (!enabled) failPending(tables, id, now)
        const due = kept()
          .filter(isDue)
          .sort((a, b) => DateTime.distance(b.row.next_attempt_at!, a.row.next_attempt_at!))
          .filter(
            upTo(inProgress, ofBucket, ({ bucket, destination_id }) => {
              if (bucket > 0) return limits.limitOfCaller
              const destination = tables.destinations.get(destination_id)!
              if (sharesComment(destination)) return 1
              return destination.failing_since !== undefined ? limits.limitOfFailing : limits.limitOfEach
            })
          )
          .filter(upTo(inProgress, ofDestination, ({ bucket }) => (bucket > 0 ? limits.limitOfCallback : Infinity)))
          .filter(upTo(inProgress, ofCallbacks, ({ bucket }) => (bucket > 0 ? limits.limitOfCallbacks : Infinity)))
          .slice(0, limit)
        for (const delivery of due.filter(({ row }) => !isOfTeam(row))) {
          const attempts = [...delivery.row.attempts, movedAttempt(now)].slice(-storedAttempts)
          delivery.row = { ...delivery.row, attempts }
          fail(tables, delivery, now)
        }
        return due
          .filter(({ row }) => row.status === "pending")
          .map((delivery) => {
            delivery.claimedUntil = until
            const { alert_id, created_at: at, destination_id, event, id, run_id, webhook_id } = delivery.row
            const about =
              run_id === undefined || webhook_id === undefined
                ? { alert: tables.alerts.get(alert_id!) }
                : {
                    webhook: { id: webhook_id, name: tables.webhooks.get(webhook_id)!.name },
                    run: toRun(tables.find(run_id)!.row)
                  }
            const destination = tables.destinations.get(destination_id)!
            if (sharesComment(destination)) tables.writers.set(destination_id, { id, until })
            return { id, event, at, made: delivery.made, bucket: delivery.bucket, destination, ...about } as DueDelivery
          })
      }),
    recordAttempts: (results, failingBefore) =>
      Effect.sync(() => {
        results.forEach(record)
        release(
          tables,
          results.map(({ id }) => id)
        )
        const telling = results.filter(({ isOfRun = false }) => !isOfRun)
        const ids = [...new Set(telling.map(({ destination_id }) => destination_id))]
        return ids.filter((id) =>
          judge(
            id,
            telling.filter(({ destination_id }) => destination_id === id),
            failingBefore
          )
        )
      }),
    releaseClaims: (ids) =>
      Effect.sync(() => {
        release(tables, ids)
        for (const delivery of kept()) if (ids.includes(delivery.row.id)) delivery.claimedUntil = undefined
      }),
    deliveries: ({ cursor, destination_id, limit, owner, owners, run_id, status }) =>
      Effect.map(decodeCursor(cursor), (before) => {
        const found = kept()
          .filter(
            ({ row, seq }) =>
              (row.webhook_id ?? null) === owner &&
              (destination_id === undefined || row.destination_id === destination_id) &&
              (run_id === undefined || row.run_id === run_id) &&
              (status === undefined || row.status === status) &&
              isRunOfTeams(row, owners) &&
              (Option.isNone(before) || seq < before.value)
          )
          .sort((a, b) => b.seq - a.seq)
        const page = found.slice(0, limit)
        return {
          data: page.map(({ row }) => row),
          next_cursor: found.length > limit ? encodeCursor(page.at(-1)!.seq) : null
        }
      }),
    delivery: (owner, id, owners) =>
      orNotFound(
        () =>
          kept().find(({ row }) => row.id === id && (row.webhook_id ?? null) === owner && isRunOfTeams(row, owners)),
        ({ row }) => row
      ),
    resend: (which, now) =>
      Effect.sync(() => {
        const isWanted = ({ row }: StoredDelivery) =>
          (row.webhook_id ?? null) === which.owner &&
          isOfTeam(row) &&
          tables.destinations.get(row.destination_id)?.enabled === true &&
          ("id" in which
            ? row.id === which.id
            : row.destination_id === which.destination_id &&
              row.status === "failed" &&
              row.finished_at !== undefined &&
              !isAfter(which.failedSince, row.finished_at))
        const again = kept().filter(isWanted)
        for (const delivery of again) {
          const { finished_at: _, ...row } = delivery.row
          delivery.row = { ...row, status: "pending", next_attempt_at: now }
          delivery.made = 0
          if (row.run_id !== undefined) showFailed(tables, row.run_id)
          const { paused_until: __, ...destination } = tables.destinations.get(row.destination_id)!
          tables.destinations.set(destination.id, destination)
        }
        if (again.length > 0) tables.notify({ _tag: "DeliveryDue" })
        return again.length
      })
  })
}
