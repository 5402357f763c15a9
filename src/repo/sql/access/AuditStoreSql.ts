import { SqlClient, type Statement } from "@effect/sql"
import { DateTime, Effect, Layer, Option } from "effect"
import { AuditEvent } from "../../../domain/access/AuditEvent.ts"
import * as GroupCommit from "../../../runtime/GroupCommit.ts"
import {
  type AuditFilter,
  type AuditQuery,
  AuditStore,
  type ChainQuery,
  decodeAuditCursor
} from "../../access/AuditStore.ts"
import { type ColumnTypes, fromRow, list, recordset } from "../Columns.ts"
import { bounded } from "../database/Database.ts"

/** Deleted by one statement at most. */
const purgedInOneStep = 1_000

/** Written by one statement at most. Servers take turns at the end of the chain, so a commit has all that wait. */
const writtenInOneStep = 100

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

interface ChainRow {
  readonly start_sequence: number
  readonly start_hash: string
  readonly end_sequence: number
  readonly end_hash: string
  readonly unchained: string | null
  /** Null: there is no event. */
  readonly sequence: number | null
  readonly content: string | null
  readonly hash: string | null
}

export const layer: Layer.Layer<AuditStore, never, SqlClient.SqlClient> = Layer.scoped(
  AuditStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const write = yield* GroupCommit.make({
      size: writtenInOneStep,
      commit: Effect.fn("AuditStore.recordAudit")(function* (events: ReadonlyArray<AuditEvent>) {
        yield* sql`
          insert into webhook_trigger.audit_events (${columns})
          select ${written} from ${recordset(sql, types, events)}`
        return events.map(() => undefined)
      }, bounded)
    })

    const auditEvents = Effect.fn("AuditStore.auditEvents")(function* ({ limit, cursor, ...filter }: AuditQuery) {
      const last = yield* decodeAuditCursor(cursor)
      const rows = yield* sql`
        select ${columns} from webhook_trigger.audit_events e
        where ${sql.and([...matching(sql, filter), Option.isNone(last) ? sql`true` : sql`e.id < ${last.value}`])}
        order by e.id desc limit ${limit + 1}`
      const data = rows.slice(0, limit).map((row) => fromRow<AuditEvent>(row, fields))
      return { data, next_cursor: rows.length > limit ? data.at(-1)!.id : null }
    }, bounded)

    const auditChain = Effect.fn("AuditStore.auditChain")(function* ({ after, limit, ...filter }: ChainQuery) {
      const rows = yield* sql<ChainRow>`
        select c.start_sequence::float8, c.start_hash, c.end_sequence::float8, c.end_hash,
          (select e.id from webhook_trigger.audit_events e where e.sequence is null limit 1) as unchained,
          e.sequence::float8, e.content, e.hash
        from webhook_trigger.audit_chain c left join lateral (
          select e.sequence, webhook_trigger.audit_content(e) as content, e.hash
          from webhook_trigger.audit_events e
          where ${sql.and([sql`e.sequence > ${after}`, ...matching(sql, filter)])}
          order by e.sequence limit ${limit}
        ) e on true
        order by e.sequence`
      const { end_hash, end_sequence, start_hash, start_sequence, unchained } = rows[0]!
      return {
        start: { sequence: start_sequence, hash: start_hash },
        end: { sequence: end_sequence, hash: end_hash },
        events: rows.flatMap(({ content, hash, sequence }) =>
          sequence === null ? [] : [{ sequence, content: content ?? "", hash: hash ?? "" }]
        ),
        ...(unchained !== null && { unchained })
      }
    }, bounded)

    const purgeAudit = Effect.fn("AuditStore.purgeAudit")(function* (before: DateTime.Utc) {
      const [row] = yield* sql<{ readonly purged: number }>`
        with first as (
          select id, sequence, at from webhook_trigger.audit_events order by sequence limit ${purgedInOneStep}
        ), purged as (
          delete from webhook_trigger.audit_events where id = any (array(
            select id from first where sequence < coalesce(
              (select min(sequence) from first where at >= ${DateTime.toDateUtc(before)}), 'infinity'::float8
            )
          )) returning sequence, hash
        ), moved as (
          update webhook_trigger.audit_chain set start_sequence = last.sequence, start_hash = last.hash
          from (select sequence, hash from purged order by sequence desc limit 1) as last
          where start_sequence < last.sequence
        )
        select count(*)::int as purged from purged`
      return row!.purged
    }, bounded)

    return AuditStore.of({
      recordAudit: (event) => Effect.asVoid(write([event])),
      auditEvents,
      auditChain,
      purgeAudit
    })
  })
)
