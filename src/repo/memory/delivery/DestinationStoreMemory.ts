import { type Context, Effect } from "effect"
import { type Destination, type DestinationRow, toDestination } from "../../../domain/delivery/Destination.ts"
import { type Invalid, NotFound } from "../../../domain/Errors.ts"
import type { DestinationId } from "../../../domain/Id.ts"
import { storable } from "../../../domain/StorableText.ts"
import { DestinationStore, type FaultBeside, type Owner } from "../../delivery/DestinationStore.ts"
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
  const of = (owner: Owner): ReadonlyArray<Destination> =>
    [...destinations.values()].filter((row) => isOf(owner, row)).map((row) => toDestination(row))
  const faultOf = (faultBeside: FaultBeside | undefined, owner: Owner, self?: DestinationId) =>
    faultBeside?.(of(owner).filter(({ id }) => id !== self))
  const shown = (row: DestinationRow): Partial<Destination> => {
    const { created_at, failing_since, id, paused_until, updated_at, ...fields } = toDestination(row)
    return fields
  }

  return DestinationStore.of({
    createDestination: (row, { audit: draft, faultBeside } = {}) =>
      Effect.suspend((): Effect.Effect<Destination, Invalid | NotFound> => {
        if (row.webhook_id !== undefined && !tables.webhooks.has(row.webhook_id)) return new NotFound()
        const fault = faultOf(faultBeside, row.webhook_id ?? null)
        if (fault !== undefined) return fault
        destinations.set(row.id, storableFields(row))
        audit.write(draft, { object: row.id, after: shown(row) })
        return Effect.succeed(toDestination(row))
      }),
    destinations: (owner) => Effect.sync(() => of(owner)),
    destinationRows: Effect.sync(() => [...destinations.values()]),
    destinationRow: (owner, id) => orNotFound(find(owner, id), (row) => row),
    updateDestination: (owner, id, change, { audit: draft, faultBeside } = {}) =>
      Effect.suspend((): Effect.Effect<Destination, Invalid | NotFound> => {
        const before = find(owner, id)()
        if (before === undefined) return new NotFound()
        const fault = faultOf(faultBeside, owner, id)
        if (fault !== undefined) return fault
        const isResumed = change.paused === false || (change.enabled === true && change.paused === undefined)
        const resumed = { paused: null, disabled_reason: null, failing_since: null, paused_until: null }
        const after = withoutNulls({ ...before, ...change, ...(isResumed && resumed) }) as DestinationRow
        destinations.set(id, storableFields(after))
        if (change.enabled === false) failPending(tables, id, change.updated_at)
        audit.write(draft, { object: id, before: shown(before), after: shown(after) })
        return Effect.succeed(toDestination(after))
      }),
    isAuthor: ({ id, team }, { ids, isSameApp = false }) =>
      Effect.sync(() =>
        [...destinations.values()].some(
          ({ authors = [], enabled, kind, webhook_id }) =>
            webhook_id !== undefined &&
            tables.webhooks.get(webhook_id)?.team === team &&
            (authors.some((author) => ids.includes(author)) ||
              (isSameApp && webhook_id === id && enabled && (kind === "slack" || kind === "slack-message")))
        )
      ),
    rememberAuthors: (id, authors) =>
      Effect.sync(() => {
        const row = destinations.get(id)
        if (row !== undefined) destinations.set(id, { ...row, authors })
      }),
    comment: (id, target) => Effect.sync(() => tables.comments.get(`${id} ${storable(target)}`)),
    rememberComment: (id, target, comment_id) =>
      Effect.sync(() => {
        if (destinations.has(id)) tables.comments.set(`${id} ${storable(target)}`, comment_id)
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
