import { randomUUID } from "node:crypto"
import { type Context, DateTime, Effect, Option } from "effect"
import type { EventDelivery } from "../../../domain/delivery/Delivery.ts"
import { type Destination, type DestinationRow, toDestination } from "../../../domain/delivery/Destination.ts"
import { eventOfStatus } from "../../../domain/delivery/DestinationEvent.ts"
import type { DeliveryId, DestinationId, WebhookId } from "../../../domain/Id.ts"
import type { RunRow } from "../../../domain/run/Run.ts"
import { isFinal } from "../../../domain/run/RunStatus.ts"
import { type AttemptResult, DeliveryStore, storedAttempts } from "../../delivery/DeliveryStore.ts"
import { DestinationStore } from "../../delivery/DestinationStore.ts"
import { decodeCursor, encodeCursor } from "../../history/Cursor.ts"
import { isAfter, orNotFound, storableFields, type Tables } from "../Tables.ts"

/** A delivery as it is stored. */
export interface StoredDelivery {
  row: EventDelivery
  readonly seq: number
  /** How many attempts of the schedule were made. */
  made: number
  claimedUntil: DateTime.Utc | undefined
}

/** Writes the deliveries of a run that has just ended. */
export const deliverEnd = (tables: Tables, run: RunRow): void => {
  const { finished_at, run_id, status, webhook_id } = run
  if (!isFinal(status) || webhook_id === undefined || finished_at === undefined) return
  const event = eventOfStatus[status]
  const wanted = [...tables.destinations.values()].filter(
    (one) => one.webhook_id === webhook_id && one.enabled && one.events.includes(event)
  )
  for (const { id } of wanted) {
    tables.deliveries.push({
      row: {
        id: randomUUID() as DeliveryId,
        destination_id: id,
        webhook_id,
        run_id,
        event,
        status: "pending",
        created_at: finished_at,
        next_attempt_at: finished_at,
        attempts: []
      },
      seq: ++tables.drawn,
      made: 0,
      claimedUntil: undefined
    })
  }
  if (wanted.length > 0) tables.notify({ _tag: "DeliveryDue" })
}

const fail = (delivery: StoredDelivery, finished_at: DateTime.Utc): void => {
  const { next_attempt_at: _, ...row } = delivery.row
  delivery.row = { ...row, status: "failed", finished_at }
}

const failPending = (tables: Tables, id: DestinationId, at: DateTime.Utc): void => {
  for (const delivery of tables.deliveries) {
    if (delivery.row.destination_id === id && delivery.row.status === "pending") fail(delivery, at)
  }
}

/** Without the fields that are `null`. */
const withoutNulls = <A extends object>(fields: A): A =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as A

export const makeDestinationStore = (tables: Tables): Context.Tag.Service<DestinationStore> => {
  const { audit, destinations } = tables
  const find = (webhook_id: WebhookId, id: DestinationId) => () => {
    const row = destinations.get(id)
    return row?.webhook_id === webhook_id ? row : undefined
  }
  const shown = (row: DestinationRow): Partial<Destination> => {
    const { created_at: _, failing_since: __, id: ___, updated_at: ____, ...fields } = toDestination(row)
    return fields
  }

  return DestinationStore.of({
    createDestination: (row, draft) =>
      orNotFound(
        () => tables.webhooks.get(row.webhook_id),
        () => {
          destinations.set(row.id, storableFields(row))
          audit.write(draft, { object: row.id, after: shown(row) })
          return toDestination(row)
        }
      ),
    destinations: (webhook_id) =>
      Effect.sync(() =>
        [...destinations.values()].filter((row) => row.webhook_id === webhook_id).map((row) => toDestination(row))
      ),
    destinationRows: Effect.sync(() => [...destinations.values()]),
    destinationRow: (webhook_id, id) => orNotFound(find(webhook_id, id), (row) => row),
    updateDestination: (webhook_id, id, change, draft) =>
      orNotFound(find(webhook_id, id), (before) => {
        const switchedOn = change.enabled === true ? { disabled_reason: null, failing_since: null } : {}
        const after = withoutNulls({ ...before, ...change, ...switchedOn }) as DestinationRow
        destinations.set(id, storableFields(after))
        if (change.enabled === false) failPending(tables, id, change.updated_at)
        audit.write(draft, { object: id, before: shown(before), after: shown(after) })
        return toDestination(after)
      }),
    deleteDestination: (webhook_id, id, draft) =>
      orNotFound(find(webhook_id, id), (before) => {
        destinations.delete(id)
        tables.deliveries = tables.deliveries.filter(({ row }) => row.destination_id !== id)
        audit.write(draft, { object: id, before: shown(before) })
      })
  })
}

export const makeDeliveryStore = (tables: Tables): Context.Tag.Service<DeliveryStore> => {
  /** Those of runs and webhooks that were deleted go with them. */
  const kept = () => {
    const runs = new Set(tables.runs.map(({ row }) => row.run_id))
    tables.deliveries = tables.deliveries.filter(
      ({ row }) => runs.has(row.run_id) && tables.destinations.has(row.destination_id)
    )
    return tables.deliveries
  }

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
  }

  /** Whether the attempts switched it off. */
  const judge = (id: DestinationId, results: ReadonlyArray<AttemptResult>, failingBefore: DateTime.Utc): boolean => {
    const before = tables.destinations.get(id)
    if (before === undefined) return false
    const { failing_since, ...rest } = before
    const isGone = results.some((result) => result.isGone)
    const delivers = results.some(({ next }) => next === "delivered")
    const isFailing = !delivers && failing_since !== undefined && isAfter(failingBefore, failing_since)
    const since = failing_since ?? results[0]!.attempt.at
    const off = isGone || isFailing
    tables.destinations.set(id, {
      ...rest,
      ...(!delivers && { failing_since: since }),
      ...(off && { enabled: false, disabled_reason: isGone ? ("gone" as const) : ("failing" as const) })
    })
    if (off) failPending(tables, id, results.at(-1)!.attempt.at)
    return off
  }

  return DeliveryStore.of({
    claimDeliveries: ({ except, limit, limitOfEach, limitOfFailing, now, until }) =>
      Effect.sync(() => {
        const taken = new Map<DestinationId, number>()
        const isDue = ({ claimedUntil, row }: StoredDelivery) =>
          row.next_attempt_at !== undefined &&
          !isAfter(row.next_attempt_at, now) &&
          (claimedUntil === undefined || !isAfter(claimedUntil, now)) &&
          tables.destinations.get(row.destination_id)?.enabled === true &&
          !except.includes(row.destination_id)
        const due = kept()
          .filter(isDue)
          .sort((a, b) => DateTime.distance(b.row.next_attempt_at!, a.row.next_attempt_at!))
          .filter(({ row }) => {
            const count = (taken.get(row.destination_id) ?? 0) + 1
            taken.set(row.destination_id, count)
            const isFailing = tables.destinations.get(row.destination_id)?.failing_since !== undefined
            return count <= (isFailing ? limitOfFailing : limitOfEach)
          })
          .slice(0, limit)
        return due.map((delivery) => {
          delivery.claimedUntil = until
          const { destination_id, event, id, run_id } = delivery.row
          return { id, run_id, event, made: delivery.made, destination: tables.destinations.get(destination_id)! }
        })
      }),
    recordAttempts: (results, failingBefore) =>
      Effect.sync(() => {
        results.forEach(record)
        const ids = [...new Set(results.map(({ destination_id }) => destination_id))]
        return ids.filter((id) =>
          judge(
            id,
            results.filter(({ destination_id }) => destination_id === id),
            failingBefore
          )
        )
      }),
    deliveries: ({ cursor, destination_id, limit, run_id, status, webhook_id }) =>
      Effect.map(decodeCursor(cursor), (before) => {
        const found = kept()
          .filter(
            ({ row, seq }) =>
              row.webhook_id === webhook_id &&
              (destination_id === undefined || row.destination_id === destination_id) &&
              (run_id === undefined || row.run_id === run_id) &&
              (status === undefined || row.status === status) &&
              (Option.isNone(before) || seq < before.value)
          )
          .sort((a, b) => b.seq - a.seq)
        const page = found.slice(0, limit)
        return {
          data: page.map(({ row }) => row),
          next_cursor: found.length > limit ? encodeCursor(page.at(-1)!.seq) : null
        }
      }),
    delivery: (webhook_id, id) =>
      orNotFound(
        () => kept().find(({ row }) => row.id === id && row.webhook_id === webhook_id),
        ({ row }) => row
      ),
    resend: (which, now) =>
      Effect.sync(() => {
        const isWanted = ({ row }: StoredDelivery) =>
          row.webhook_id === which.webhook_id &&
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
        }
        if (again.length > 0) tables.notify({ _tag: "DeliveryDue" })
        return again.length
      })
  })
}
