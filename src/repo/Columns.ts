/**
 * Records and rows. A record's columns are the fields of its schema, and their values follow from the types. So a new
 * optional field of a webhook or a run needs a migration, but no change here.
 */

import { DateTime } from "effect"
import { type SqlClient, Statement } from "effect/sql"
import * as Json from "../domain/Json.ts"
import { storable } from "../domain/StorableText.ts"

const fromColumn = (value: unknown): unknown =>
  value instanceof Date ? DateTime.fromDateUnsafe(value) : value instanceof Uint8Array ? new Uint8Array(value) : value

/**
 * A row's record; a null column becomes an absent field. Columns outside `fields` are left out. Rows are trusted and
 * not decoded by a schema, because every trigger reads some.
 */
export const fromRow = <A>(row: object, fields: ReadonlyArray<string> = Object.keys(row)): A => {
  const record: Record<string, unknown> = {}
  for (const field of fields) {
    const value = (row as Readonly<Record<string, unknown>>)[field]
    if (value !== null && value !== undefined) record[field] = fromColumn(value)
  }
  return record as A
}

const toColumn = (value: unknown): unknown => {
  if (typeof value === "string") return storable(value)
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value
  return DateTime.isDateTime(value) ? DateTime.toDateUtc(value) : Json.stringify(value)
}

const mapFields = (
  record: object,
  fields: ReadonlyArray<string>,
  map: (value: unknown) => unknown
): Record<string, unknown> => {
  const columns: Record<string, unknown> = {}
  for (const field of fields) {
    const value = (record as Readonly<Record<string, unknown>>)[field]
    if (value !== undefined) columns[field] = map(value)
  }
  return columns
}

/** The columns of the fields that a record has: for `sql.insert` and `sql.update`. */
export const toColumns = (record: object): Record<string, unknown> => mapFields(record, Object.keys(record), toColumn)

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const toJson = (value: unknown): unknown => (value instanceof Uint8Array ? `\\x${hex(value)}` : toColumn(value))

/** Records as JSON for PostgreSQL. JSON values are texts in it, because PostgreSQL would refuse an escaped U+0000 in them. */
export const jsonOf = (records: ReadonlyArray<object>): string =>
  JSON.stringify(records.map((record) => mapFields(record, Object.keys(record), toJson)))

/** Columns by name, and their PostgreSQL types. */
export type ColumnTypes = Readonly<Record<string, string>>

/** The types of a `RunEvent`. */
export const eventTypes: ColumnTypes = { run_id: "uuid", at: "timestamptz" }

/**
 * Any number of records as the rows `i`: `select .. from ${recordset(sql, types, records)}`. Fields without a type are
 * left out. They are one value, so the statement's text does not depend on their number. A `json` column arrives as
 * JSON text, because PostgreSQL would refuse an escaped U+0000 in it.
 */
export const recordset = (
  sql: SqlClient.SqlClient,
  types: ColumnTypes,
  records: ReadonlyArray<object>
): Statement.Fragment => {
  const names = Object.keys(types)
  const columns = Object.entries(types).map(([name, type]) => `${name} ${type === "json" ? "text" : type}`)
  const json = JSON.stringify(records.map((record) => mapFields(record, names, toJson)))
  return sql`json_to_recordset(${json}::json) as i(${sql.literal(columns.join(", "))})`
}

/** A list of columns or of values, as in SQL. */
export const list = (parts: Iterable<string>): Statement.Fragment =>
  Statement.fragment([Statement.literal([...parts].join(", "))])

/**
 * IDs as one value: `where id = any(${uuids(sql, ids)})`. For an array, PostgreSQL uses the index of the IDs. For a
 * subquery's rows, it prefers to scan a table that was small or new when it planned. Put no condition on the status
 * beside it: PostgreSQL would use an index of that status, full of runs that have had it. The array is selected, so
 * that PostgreSQL does not see its length when it plans. Otherwise it would plan at each call, since it considers every
 * other plan worse than one for ten IDs.
 */
export const uuids = (sql: SqlClient.SqlClient, ids: Iterable<string>): Statement.Fragment =>
  sql`(select ${`{${[...ids].join(",")}}`}::uuid[])::uuid[]`

/** The IDs of runs, in the same way. */
export const runIds = (sql: SqlClient.SqlClient, runs: ReadonlyArray<{ readonly run_id: string }>) =>
  uuids(
    sql,
    runs.map(({ run_id }) => run_id)
  )
