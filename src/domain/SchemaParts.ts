/** Parts of schemas. */
import { Schema } from "effect"

/** Any JSON, as it is: `Schema.Unknown` visits all of it, and refuses numbers that are kept as they were written. */
export const AnyJson = Schema.Any as Schema.Codec<unknown>

export const AnyObject = Schema.Record(Schema.String, AnyJson)

/** Counts UTF-16 code units, unlike an expression with the flag `u`, the only ones that get into JSON Schema by themselves. */
export const pattern = (expression: RegExp) =>
  Schema.isPattern(expression, { toJsonSchema: () => ({ pattern: expression.source }) })
