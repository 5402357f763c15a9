/** Writes the audit event of a change, in the statement that makes the change. */
import { DateTime } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { type AuditDraft, auditedFields, auditedLength } from "../../domain/access/AuditEvent.ts"
import { list } from "../Columns.ts"

/**
 * The part `audited` of a `with` query: one event for the row of `changed`, a query of `object`, `before` and `after`.
 * Without a draft there is none.
 */
export const audited = (
  sql: SqlClient.SqlClient,
  draft: AuditDraft | undefined,
  changed: Statement.Fragment
): Statement.Fragment =>
  draft === undefined
    ? sql`audited as (select)`
    : sql`audited as (
        insert into webhook_trigger.audit_events (
          id, at, action, actor, key_id, key_name, person_id, person_name, session_id, client_address,
          object, before, after
        )
        select ${draft.id}::uuid, ${DateTime.toDateUtc(draft.at)}::timestamptz, ${draft.action}::text,
          ${draft.actor}::text, ${draft.key_id ?? null}::text, ${draft.key_name ?? null}::text,
          ${draft.person_id ?? null}::text, ${draft.person_name ?? null}::text,
          ${draft.session_id ?? null}::text, ${draft.client_address ?? null}::text,
          object, before::json, after::json
        from (${changed}) as changed
      )`

/** The part of another row that events show: these fields, without those that are null. */
export const shownFields =
  (fields: ReadonlyArray<string>) =>
  (row: string): Statement.Fragment =>
    list([
      `(select json_object_agg(key, value) from json_each(json_build_object(${fields
        .map((field) => `'${field}', ${row}.${field}`)
        .join(", ")})) where json_typeof(value) <> 'null')`
    ])

/** The fields that events show of a webhook, a row of that name, as `jsonb`. */
const shown = (row: string): string =>
  // A function has at most 100 arguments.
  `(${[auditedFields.slice(0, 50), auditedFields.slice(50)]
    .map((fields) => `jsonb_build_object(${fields.map((field) => `'${field}', ${row}.${field}`)})`)
    .join(" || ")})`

const cut = `case when length(each.value #>> '{}') > ${auditedLength} and jsonb_typeof(each.value) in ('string', 'object')
  then to_jsonb(left(each.value #>> '{}', ${auditedLength}) || '…') else each.value end`

/** The fields that events show of a whole webhook row. */
export const webhookFields = (sql: SqlClient.SqlClient, row: string): Statement.Fragment =>
  sql.literal(`(
    select jsonb_object_agg(each.key, ${cut}) from jsonb_each(jsonb_strip_nulls(${shown(row)})) as each
  )`)

/** The fields in which it differs from another row; null: none. */
export const changedWebhookFields = (sql: SqlClient.SqlClient, row: string, other: string): Statement.Fragment =>
  sql.literal(`(
    select jsonb_object_agg(each.key, ${cut}) from jsonb_each(${shown(row)}) as each
    where each.value is distinct from ${shown(other)} -> each.key
  )`)
