import { DateTime, Effect, Option, Schema, SchemaIssue, SchemaTransformation } from "effect"

/** RFC 3339, 5.6, without leap seconds. */
const rfc3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i

/** JavaScript also accepts `-1` as a time, and reads February 30 as March 2. */
const isDay = (text: string): boolean => {
  const day = text.slice(0, 10)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}

const parse = (text: string): Option.Option<DateTime.Utc> =>
  rfc3339.test(text) && isDay(text) ? DateTime.make(text.toUpperCase()) : Option.none()

const transformation = SchemaTransformation.transformEffect({
  decode: (text: string) =>
    Option.match(parse(text), {
      onNone: () =>
        Effect.fail(new SchemaIssue.InvalidValue({ message: "must be a time like 2026-01-02T03:04:05.678Z" })),
      onSome: Effect.succeed
    }),
  encode: (time: DateTime.Utc) => Effect.succeed(DateTime.formatIso(time))
})

/** A point in time: a `DateTime.Utc` in code, RFC 3339 in UTC with milliseconds in JSON. */
export const time = (description: string) =>
  Schema.String.annotate({ format: "date-time", description }).pipe(Schema.decodeTo(Schema.DateTimeUtc, transformation))

/** An optional field, without a key when absent. */
export const optional: typeof Schema.optionalKey = Schema.optionalKey
