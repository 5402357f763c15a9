import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditDraft } from "../../domain/access/AuditEvent.ts"
import {
  Destination,
  type DestinationEdit,
  type DestinationRow,
  toDestination
} from "../../domain/delivery/Destination.ts"
import { type Invalid, NotFound } from "../../domain/Errors.ts"
import type { DestinationId, WebhookId } from "../../domain/Id.ts"
import { storable } from "../../domain/StorableText.ts"
import type { TeamName } from "../../domain/Team.ts"
import { audited, shownFields } from "../access/Audit.ts"
import { fromRow, toColumns } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { givenUp } from "./EndButtons.ts"

/** Fields to overwrite; `null` removes an optional one. */
type DestinationChange = Omit<DestinationEdit, "headers" | "paused" | "token"> &
  Partial<Pick<DestinationRow, "authors" | "chain_teams" | "header_names" | "sealed_secret" | "secret_hint">> & {
    readonly [Field in
      | "paused"
      | "sealed_headers"
      | "old_sealed_secret"
      | "old_secret_valid_until"
      | "disabled_reason"]?: DestinationRow[Field] | null
  } & { readonly updated_at: DateTime.Utc }

/** The encrypted fields. */
type SealedFields = Pick<DestinationRow, "sealed_headers" | "sealed_secret" | "old_sealed_secret">

/** The webhook that a destination belongs to. `null`: it gets alerts. */
export type Owner = WebhookId | null

/** Who wrote a message: the IDs that its service uses for the author, each with the service's name before it. */
interface Author {
  readonly ids: ReadonlyArray<string>
  /** The app that wrote it is the one that reports it. */
  readonly isSameApp?: boolean
}

/** Why a destination may not be beside the others of its owner; `undefined`: it may. */
export type FaultBeside = (others: ReadonlyArray<Partial<Pick<Destination, "kind" | "target">>>) => Invalid | undefined

export interface ChangeOptions {
  readonly audit?: AuditDraft
  readonly faultBeside?: FaultBeside
}

/** The fields that events show of a destination: those that the API shows, without the ones that no person sets. */
const auditedFields = Object.keys(Destination.fields).filter(
  (field) => !["id", "created_at", "updated_at", "failing_since", "paused_until"].includes(field)
)

/** The fields that are cleared once people switch it on, or resume it. */
const resumed = { paused: null, disabled_reason: null, failing_since: null, paused_until: null }

const shown = shownFields(auditedFields)

/** The destinations of webhooks' runs and of alerts, as people manage them. A change writes its audit event in the same commit. */
export class DestinationStore extends Context.Service<DestinationStore>()("webhook-trigger/DestinationStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const isOf = (owner: Owner) => (owner === null ? sql`webhook_id is null` : sql`webhook_id = ${owner}`)

    /** Until the transaction's end, no other destination of the owner is checked. The next statement reads what others did. */
    const lock = Effect.fnUntraced(function* (owner: Owner) {
      const rows =
        owner === null
          ? yield* sql`select 1 from webhook_trigger.alert_state for update`
          : yield* sql`select 1 from webhook_trigger.webhooks where id = ${owner} for no key update`
      if (rows.length === 0) return yield* new NotFound()
    })

    const check = Effect.fnUntraced(function* (
      owner: Owner,
      faultBeside: FaultBeside | undefined,
      self?: DestinationId
    ) {
      const others = faultBeside === undefined ? [] : yield* destinations(owner)
      const fault = faultBeside?.(others.filter(({ id }) => id !== self))
      if (fault !== undefined) return yield* fault
    })

    /**
     * `NotFound`: there is no such webhook. No other change of the owner's destinations that asks for `faultBeside` comes
     * between its answer and this one.
     */
    const createDestination = Effect.fn("DestinationStore.createDestination")(
      function* (row: DestinationRow, { audit, faultBeside }: ChangeOptions = {}) {
        const owner = row.webhook_id ?? null
        yield* lock(owner)
        yield* check(owner, faultBeside)
        yield* sql`
        with created as (
          insert into webhook_trigger.destinations ${sql.insert(toColumns(row))} returning *
        ), ${audited(sql, audit, sql`select id::text as object, null as before, ${shown("created")} as after from created`)}
        select id from created`
        return toDestination(row)
      },
      sql.withTransaction,
      bounded
    )

    /** The destinations of a webhook, or of alerts, oldest first. */
    const destinations = Effect.fn("DestinationStore.destinations")(function* (owner: Owner) {
      const rows = yield* sql`
        select * from webhook_trigger.destinations where ${isOf(owner)} order by created_at, id`
      return rows.map((row) => toDestination(fromRow<DestinationRow>(row)))
    }, bounded)

    /** All, of every webhook and of alerts. */
    const destinationRows = bounded(sql`select * from webhook_trigger.destinations`).pipe(
      Effect.map((rows) => rows.map((row) => fromRow<DestinationRow>(row))),
      Effect.withSpan("DestinationStore.destinationRows")
    )

    const destinationRow = Effect.fn("DestinationStore.destinationRow")(function* (owner: Owner, id: DestinationId) {
      const [row] = yield* sql`
        select * from webhook_trigger.destinations where id = ${id} and ${isOf(owner)}`
      return row ? fromRow<DestinationRow>(row) : yield* new NotFound()
    }, bounded)

    const update = Effect.fnUntraced(function* (
      owner: Owner,
      id: DestinationId,
      change: DestinationChange,
      audit: AuditDraft | undefined
    ) {
      const { enabled, paused, updated_at } = change
      const isResumed = paused === false || (enabled === true && paused === undefined)
      const columns = toColumns({ ...change, ...(isResumed && resumed) })
      const [row] = yield* sql`
        with before as materialized (
          select * from webhook_trigger.destinations where id = ${id} and ${isOf(owner)} for update
        ), changed as (
          update webhook_trigger.destinations d set ${sql.update(columns)} from before where d.id = before.id
          returning d.*
        ), failed as (
          update webhook_trigger.deliveries d set
            status = ${givenUp}, next_attempt_at = null, finished_at = ${DateTime.toDateUtc(updated_at)}
          where ${enabled === false} and status = 'pending' and destination_id in (select id from before)
        ), ${audited(
          sql,
          audit,
          sql`select b.id::text as object, ${shown("b")} as before, ${shown("c")} as after from before b, changed c`
        )}
        select * from changed`
      return row ? toDestination(fromRow<DestinationRow>(row)) : yield* new NotFound()
    })

    /**
     * Switched off, its pending deliveries fail. Switched on or resumed (`paused: false`), it is not paused, and no longer counts as
     * failing. `faultBeside`: as above.
     */
    const updateDestination = Effect.fn("DestinationStore.updateDestination")(function* (
      owner: Owner,
      id: DestinationId,
      change: DestinationChange,
      { audit, faultBeside }: ChangeOptions = {}
    ) {
      const updated = update(owner, id, change, audit)
      if (faultBeside === undefined) return yield* updated
      return yield* sql.withTransaction(
        lock(owner).pipe(Effect.andThen(check(owner, faultBeside, id)), Effect.andThen(updated))
      )
    }, bounded)

    /**
     * Whether a destination of the webhook's team writes as this author; or, by the app that reports the message, an enabled
     * Slack destination of the webhook. Other teams' destinations do not count: nobody can make this team ignore others.
     */
    const isAuthor = Effect.fn("DestinationStore.isAuthor")(function* (
      { id, team }: { readonly id: WebhookId; readonly team: TeamName },
      { ids, isSameApp = false }: Author
    ) {
      const rows = yield* sql`
        select 1 from webhook_trigger.destinations d join webhook_trigger.webhooks w on w.id = d.webhook_id
        where w.team = ${team} and (
          exists (
            select from json_array_elements_text(d.authors) as author
            where author in (select json_array_elements_text(${JSON.stringify(ids)}::json))
          ) or (${isSameApp}::boolean and w.id = ${id} and d.enabled and d.kind in ('slack', 'slack-message'))
        ) limit 1`
      return rows.length > 0
    }, bounded)

    /** The IDs that the service uses for the destination, as its answers show them. */
    const rememberAuthors = Effect.fn("DestinationStore.rememberAuthors")(function* (
      id: DestinationId,
      authors: ReadonlyArray<string>
    ) {
      yield* sql`update webhook_trigger.destinations set ${sql.update(toColumns({ authors }))} where id = ${id}`
    }, bounded)

    /** The ID of the comment that runs with this target share; `undefined`: none is known. */
    const comment = Effect.fn("DestinationStore.comment")(function* (id: DestinationId, target: string) {
      const [row] = yield* sql<{ readonly comment_id: string }>`
        select comment_id from webhook_trigger.comments where destination_id = ${id} and target = ${storable(target)}`
      return row?.comment_id
    }, bounded)

    const rememberComment = Effect.fn("DestinationStore.rememberComment")(function* (
      id: DestinationId,
      target: string,
      comment_id: string
    ) {
      yield* sql`
        insert into webhook_trigger.comments (destination_id, target, comment_id)
        select id, ${storable(target)}, ${comment_id} from webhook_trigger.destinations where id = ${id}
        on conflict (destination_id, target) do update set comment_id = excluded.comment_id`
    }, bounded)

    /** Replaces what is encrypted, unless it has changed since `before` was read; returns whether it did. */
    const sealAgain = Effect.fn("DestinationStore.sealAgain")(function* (
      { id, sealed_headers, sealed_secret }: DestinationRow,
      sealed: Partial<SealedFields>
    ) {
      const rows = yield* sql`
        update webhook_trigger.destinations set ${sql.update(toColumns(sealed))}
        where id = ${id} and sealed_secret = ${sealed_secret}
          and sealed_headers is not distinct from ${sealed_headers ?? null}::text
        returning id`
      return rows.length > 0
    }, bounded)

    /** Deletes its deliveries, too. */
    const deleteDestination = Effect.fn("DestinationStore.deleteDestination")(function* (
      owner: Owner,
      id: DestinationId,
      audit?: AuditDraft
    ) {
      const rows = yield* sql`
        with deleted as (
          delete from webhook_trigger.destinations where id = ${id} and ${isOf(owner)} returning *
        ), ${audited(sql, audit, sql`select id::text as object, ${shown("deleted")} as before, null as after from deleted`)}
        select id from deleted`
      if (rows.length === 0) return yield* new NotFound()
    }, bounded)

    return {
      createDestination,
      destinations,
      destinationRows,
      destinationRow,
      updateDestination,
      isAuthor,
      rememberAuthors,
      comment,
      rememberComment,
      sealAgain,
      deleteDestination
    }
  })
}) {
  static readonly layer = Layer.effect(DestinationStore, DestinationStore.make)
}
