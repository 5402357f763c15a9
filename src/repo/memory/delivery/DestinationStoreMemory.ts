import { type Context, Effect } from "effect"
import { type Destination, type DestinationRow, toDestination } from "../../../domain/delivery/Destination.ts"
import type { DestinationId, WebhookId } from "../../../domain/Id.ts"
import { DestinationStore } from "../../delivery/DestinationStore.ts"
import { orNotFound, storableFields, type Tables } from "../Tables.ts"
import { failPending, showFailed } from "./DeliveryStoreMemory.ts"

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
    const { created_at, failing_since, id, paused_until, updated_at, ...fields } = toDestination(row)
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
        const switchedOn =
          change.enabled === true ? { disabled_reason: null, failing_since: null, paused_until: null } : {}
        const after = withoutNulls({ ...before, ...change, ...switchedOn }) as DestinationRow
        destinations.set(id, storableFields(after))
        if (change.enabled === false) failPending(tables, id, change.updated_at)
        audit.write(draft, { object: id, before: shown(before), after: shown(after) })
        return toDestination(after)
      }),
    sealAgain: ({ id, sealed_headers, sealed_secret }, sealed) =>
      Effect.sync(() => {
        const row = destinations.get(id)
        if (row?.sealed_secret !== sealed_secret || row.sealed_headers !== sealed_headers) return false
        destinations.set(id, { ...row, ...sealed })
        return true
      }),
    deleteDestination: (webhook_id, id, draft) =>
      orNotFound(find(webhook_id, id), (before) => {
        destinations.delete(id)
        const deleted = tables.deliveries.filter(({ row }) => row.destination_id === id)
        tables.deliveries = tables.deliveries.filter(({ row }) => row.destination_id !== id)
        for (const { row } of deleted) showFailed(tables, row.run_id)
        audit.write(draft, { object: id, before: shown(before) })
      })
  })
}
