/** Parts of schemas. */
import { Schema, SchemaTransformation } from "effect"

/** Any JSON, as it is: `Schema.Unknown` visits all of it, and refuses numbers that are kept as they were written. */
export const AnyJson = Schema.Any as Schema.Codec<unknown>

export const AnyObject = Schema.Record(Schema.String, AnyJson)

/** `Schema.isPattern` leaves expressions without the flag `u` out of JSON Schema. */
export const pattern = (expression: RegExp) =>
  Schema.isPattern(expression, { toJsonSchema: () => ({ pattern: expression.source }) })

/** `Schema.Int` also has the limits of JavaScript in its JSON Schema. */
export const Int = Schema.Number.check(Schema.isInt({ toJsonSchema: () => ({ type: "integer" }) }))

/** Without blanks at its ends. */
export const trimmed = (maxLength: number, description: string) =>
  Schema.String.annotate({ description }).pipe(
    Schema.decodeTo(
      Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxLength)),
      SchemaTransformation.trim()
    )
  )
