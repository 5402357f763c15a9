import { Schema } from "effect"

/** A point in time: a `Date` here, RFC 3339 in UTC with milliseconds in JSON. */
export const time = (description: string) =>
  Schema.Date.annotations({ description, jsonSchema: { type: "string", format: "date-time", description } })
