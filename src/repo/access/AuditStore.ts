import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { type AuditAction, AuditEvent } from "../../domain/access/AuditEvent.ts"
import { InvalidParameter } from "../../domain/Errors.ts"
import { AuditEventId } from "../../domain/Id.ts"
import * as GroupCommit from "../../runtime/GroupCommit.ts"
import { type ColumnTypes, fromRow, list, recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

export interface AuditFilter {
  /** The object of the change. */
  readonly object?: string
  readonly action?: AuditAction
  /** At or after this time. */
  readonly from?: DateTime.Utc
  /** Before this time. */
  readonly to?: DateTime.Utc
}

/** A page of events, newest first. */
interface AuditQuery extends AuditFilter {
  readonly limit: number
  /** Opaque; from the previous page. */
  readonly cursor?: string
}

/** A part of an export, oldest first. */
export interface AuditExportQuery extends AuditFilter {
  readonly limit: number
  /** Only events after this one. */
  readonly after?: AuditEventId
}

/** Deleted by one statement at most. */
const purgedInOneStep = 1_000

/** Written or logged by one statement at most. */
const inOneStep = 100

const fields = Object.keys(AuditEvent.fields)
const columns = list(fields)

const types: ColumnTypes = {
  ...Object.fromEntries(fields.map((field) => [field, "text"])),
  ...{ id: "uuid", at: "timestamptz", before: "json", after: "json", attempts: "integer" }
}
const written = list(fields.map((field) => (types[field] === "json" ? `i.${field}::json` : `i.${field}`)))

const matching = (
  sql: SqlClient.SqlClient,
  { action, from, object, to }: AuditFilter
): ReadonlyArray<Statement.Fragment> => [
  ...(object === undefined ? [] : [sql`e.object = ${object}`]),
  ...(action === undefined ? [] : [sql`e.action = ${action}`]),
  ...(from === undefined ? [] : [sql`e.at >= ${DateTime.toDateUtc(from)}`]),
  ...(to === undefined ? [] : [sql`e.at < ${DateTime.toDateUtc(to)}`])
]

const isEventId = Schema.is(AuditEventId)

/** A cursor is the ID of the previous page's last event. */
const decodeCursor = (cursor: string | undefined): Effect.Effect<Option.Option<AuditEventId>, InvalidParameter> =>
  cursor === undefined
    ? Effect.succeedNone
    : isEventId(cursor)
      ? Effect.succeedSome(cursor)
      : Effect.fail(new InvalidParameter({ name: "cursor", detail: "is not a cursor from an earlier page" }))

/**
 * Audit events. A change of a team or a webhook writes its event through its own store, in the same commit. IDs contain the time of
 * the action, so an event can appear after others with higher IDs. To get each event once, use `logAudit`.
 */
export class AuditStore extends Context.Service<AuditStore>()("webhook-trigger/AuditStore", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const write = yield* GroupCommit.make({
      size: inOneStep,
      commit: Effect.fn("AuditStore.recordAudit")(function* (events: ReadonlyArray<AuditEvent>) {
        yield* sql`
          insert into webhook_trigger.audit_events (${columns})
          select ${written} from ${recordset(sql, types, events)}`
        return events.map(() => undefined)
      }, bounded)
    })

    /** Writes an event whose change is not in these rows. */
    const recordAudit = (event: AuditEvent) => Effect.asVoid(write([event]))

    /** `next_cursor` is `null` on the last page. */
    const auditEvents = Effect.fn("AuditStore.auditEvents")(function* ({ limit, cursor, ...filter }: AuditQuery) {
      const last = yield* decodeCursor(cursor)
      const rows = yield* sql`
        select ${columns} from webhook_trigger.audit_events e
        where ${sql.and([...matching(sql, filter), Option.isNone(last) ? sql`true` : sql`e.id < ${last.value}`])}
        order by e.id desc limit ${limit + 1}`
      const data = rows.slice(0, limit).map((row) => fromRow<AuditEvent>(row, fields))
      return { data, next_cursor: rows.length > limit ? data.at(-1)!.id : null }
    }, bounded)

    const auditExport = Effect.fn("AuditStore.auditExport")(function* ({ after, limit, ...filter }: AuditExportQuery) {
      const rows = yield* sql`
        select ${columns} from webhook_trigger.audit_events e
        where ${sql.and([...matching(sql, filter), after === undefined ? sql`true` : sql`e.id > ${after}`])}
        order by e.id limit ${limit}`
      return rows.map((row) => fromRow<AuditEvent>(row, fields))
    }, bounded)

    /**
     * Gives some committed events that were not logged yet to `log`, and marks them as logged if it succeeds. Of several servers,
     * each gets other events. Returns how many, 0 when there are none. Logged before the commit: after a crash, events are logged
     * twice rather than not at all.
     */
    const logAudit = <E>(log: (events: ReadonlyArray<AuditEvent>) => Effect.Effect<void, E>) =>
      Effect.gen(function* () {
        const rows = yield* sql`
          update webhook_trigger.audit_events set logged = true where id = any (array(
            select id from webhook_trigger.audit_events where not logged
            order by id limit ${inOneStep} for update skip locked
          )) returning ${columns}`
        if (rows.length === 0) return 0
        const events = rows.map((row) => fromRow<AuditEvent>(row, fields))
        yield* log(events.sort((a, b) => (a.id < b.id ? -1 : 1)))
        return events.length
      }).pipe(sql.withTransaction, bounded, Effect.withSpan("AuditStore.logAudit"))

    /** Removes a portion of the events from before that time. Returns how many, 0 when there are none. */
    const purgeAudit = Effect.fn("AuditStore.purgeAudit")(function* (before: DateTime.Utc) {
      const [row] = yield* sql<{ readonly purged: number }>`
        with first as (
          select id, at from webhook_trigger.audit_events order by id limit ${purgedInOneStep}
        ), purged as (
          delete from webhook_trigger.audit_events
          where id = any (array(select id from first where at < ${DateTime.toDateUtc(before)})) returning id
        )
        select count(*)::int as purged from purged`
      return row!.purged
    }, bounded)

    return { recordAudit, auditEvents, auditExport, logAudit, purgeAudit }
  })
}) {
  static readonly layer = Layer.effect(AuditStore, AuditStore.make)
}
