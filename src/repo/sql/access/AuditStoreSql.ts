import { SqlClient } from "@effect/sql"
import { type DateTime, Effect, Layer, Option } from "effect"
import { AuditEvent } from "../../../domain/access/AuditEvent.ts"
import { type AuditQuery, AuditStore, decodeAuditCursor } from "../../access/AuditStore.ts"
import { fromRow, list, toColumns } from "../Columns.ts"
import { bounded } from "../database/Database.ts"
import { leastId } from "../history/AcceptedBetween.ts"

/** Deleted by one statement at most. */
const purgedInOneStep = 1_000

const fields = Object.keys(AuditEvent.fields)
const columns = list(fields)

export const layer: Layer.Layer<AuditStore, never, SqlClient.SqlClient> = Layer.effect(
  AuditStore,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const recordAudit = Effect.fn("AuditStore.recordAudit")(function* (event: AuditEvent) {
      yield* sql`insert into webhook_trigger.audit_events ${sql.insert(toColumns(event))}`
    }, bounded)

    const auditEvents = Effect.fn("AuditStore.auditEvents")(function* ({ object, action, limit, cursor }: AuditQuery) {
      const last = yield* decodeAuditCursor(cursor)
      const rows = yield* sql`
        select ${columns} from webhook_trigger.audit_events
        where ${sql.and([
          ...(object === undefined ? [] : [sql`object = ${object}`]),
          ...(action === undefined ? [] : [sql`action = ${action}`]),
          Option.isNone(last) ? sql`true` : sql`id < ${last.value}`
        ])}
        order by id desc limit ${limit + 1}`
      const data = rows.slice(0, limit).map((row) => fromRow<AuditEvent>(row, fields))
      return { data, next_cursor: rows.length > limit ? data.at(-1)!.id : null }
    }, bounded)

    const purgeAudit = Effect.fn("AuditStore.purgeAudit")(function* (before: DateTime.Utc) {
      const [row] = yield* sql<{ readonly purged: number }>`
        with purged as (
          delete from webhook_trigger.audit_events where id = any (array(
            select id from webhook_trigger.audit_events where id < ${leastId(before.epochMillis)}::uuid
            order by id limit ${purgedInOneStep}
          )) returning 1
        )
        select count(*)::int as purged from purged`
      return row!.purged
    }, bounded)

    return AuditStore.of({ recordAudit, auditEvents, purgeAudit })
  })
)
