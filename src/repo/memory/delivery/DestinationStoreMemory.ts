import { type Context, Effect } from "effect"
import { type Destination, type DestinationRow, toDestination } from "../../../domain/delivery/Destination.ts"
import type { DestinationId } from "../../../domain/Id.ts"
import { DestinationStore, type Owner } from "../../delivery/DestinationStore.ts"
import { orNotFound, storableFields, type Tables } from "../Tables.ts"
import { failPending, showFailed } from "./DeliveryStoreMemory.ts"

/** Without the fields that are `null`. */
const withoutNulls = <A extends object>(fields: A): A =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as A

export const makeDestinationStore = (tables: Tables): Context.Tag.Service<DestinationStore> => {
  const { audit, destinations } = tables
  const isOf = (owner: Owner, row: DestinationRow) => (row.webhook_id ?? null) === owner
  const find = (owner: Owner, id: DestinationId) => () => {
    const row = destinations.get(id)
    return row !== undefined && isOf(owner, row) ? row : undefined
  }
  const shown = (row: DestinationRow): Partial<Destination> => {
    const { created_at, failing_since, id, paused_until, updated_at, ...fields } = toDestination(row)
    return fields
  }

  return DestinationStore.of({
    createDestination: (row, draft) =>
      orNotFound(
        () => row.webhook_id === undefined || tables.webhooks.get(row.webhook_id),
        () => {
          destinations.set(row.id, storableFields(row))
          audit.write(draft, { object: row.id, after: shown(row) })
          return toDestination(row)
        }
      ),
    destinations: (owner) =>
      Effect.sync(() => [...destinations.values()].filter((row) => isOf(owner, row)).map((row) => toDestination(row))),
    destinationRows: Effect.sync(() => [...destinations.values()]),
    destinationRow: (owner, id) => orNotFound(find(owner, id), (row) => row),
    updateDestination: (owner, id, change, draft) =>
      orNotFound(find(owner, id), (before) => {
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
    deleteDestination: (owner, id, draft) =>
      orNotFound(find(owner, id), (before) => {
        destinations.delete(id)
        const deleted = tables.deliveries.filter(({ row }) => row.destination_id === id)
        tables.deliveries = tables.deliveries.filter(({ row }) => row.destination_id !== id)
        for (const { row } of deleted) if (row.run_id !== undefined) showFailed(tables, row.run_id)
        audit.write(draft, { object: id, before: shown(before) })
      })
  })
}
