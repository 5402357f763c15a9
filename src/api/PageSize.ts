import { Schema } from "effect"

/** How much a page may have, and has when the request does not say. */
export const pageSize = { minimum: 1, maximum: 100, default: 20 } as const

/** The query parameter `limit` of a list in pages. */
export const Limit = Schema.compose(Schema.String.pipe(Schema.pattern(/^\d+$/)), Schema.NumberFromString).pipe(
  Schema.int(),
  Schema.between(pageSize.minimum, pageSize.maximum),
  Schema.annotations({ jsonSchema: { type: "integer", ...pageSize, description: "How many a page has." } })
)
