/**
 * Records and rows. The columns of a record are the fields of its schema, and their values follow from their types: a new
 * optional field of a webhook or a run needs its migration, and nothing else here.
 */
import { type SqlClient, Statement } from "@effect/sql"
import { DateTime } from "effect"
import { storable } from "../../domain/StorableText.ts"

const fromColumn = (value: unknown): unknown =>
  value instanceof Date ? DateTime.unsafeFromDate(value) : value instanceof Uint8Array ? new Uint8Array(value) : value

/**
 * The record in a row; a column that is null becomes an absent field. Other columns than `fields` are left out. Rows are
 * trusted: nothing is decoded by a schema, on the path of every trigger.
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
  return DateTime.isDateTime(value) ? DateTime.toDateUtc(value) : JSON.stringify(value)
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

/** The columns of a record's fields that are present: for `sql.insert` and `sql.update`. */
export const toColumns = (record: object): Record<string, unknown> => mapFields(record, Object.keys(record), toColumn)

const toJson = (value: unknown): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : toColumn(value)

/** Columns by name, and their PostgreSQL types. */
export type ColumnTypes = Readonly<Record<string, string>>

/** Of a `RunMark`. */
export const markTypes: ColumnTypes = { run_id: "uuid", at: "timestamptz" }

/**
 * Any number of records as the rows `i`: `select .. from ${recordset(sql, types, records)}`. Fields without a type are left
 * out. They are one value, so the statement's text is the same for every number of records. A `json` column arrives as the
 * text of its JSON: PostgreSQL would refuse an escaped U+0000 in it.
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

/** A list of columns or of values, as it stands in SQL. */
export const list = (parts: Iterable<string>): Statement.Fragment => Statement.unsafeFragment([...parts].join(", "))

/**
 * Ids as one value: `where id = any(${uuids(sql, ids)})`. As an array, for which PostgreSQL takes the index of the ids; for
 * the rows of a subquery it prefers to scan a small or new table, and one that has grown since it planned. The condition is
 * to stand alone: with one for the status beside it, PostgreSQL takes an index of that, full of runs that have had it.
 * Selected, so that PostgreSQL does not see how many they are when it plans: it would plan at each call, since it takes every
 * other plan for one of ten ids.
 */
export const uuids = (sql: SqlClient.SqlClient, ids: Iterable<string>): Statement.Fragment =>
  sql`(select ${`{${[...ids].join(",")}}`}::uuid[])::uuid[]`

/** The ids of runs, in the same way. */
export const runIds = (sql: SqlClient.SqlClient, runs: ReadonlyArray<{ readonly run_id: string }>) =>
  uuids(
    sql,
    runs.map(({ run_id }) => run_id)
  )
