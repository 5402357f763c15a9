import { Schema } from "effect"

/** A point in time: a `DateTime.Utc` here, RFC 3339 in UTC with milliseconds in JSON. */
export const time = (description: string) =>
  Schema.DateTimeUtc.annotations({ description, jsonSchema: { type: "string", format: "date-time", description } })

/** A field that may be absent, and is then not there at all. */
export const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })
