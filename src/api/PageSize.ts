import { Schema } from "effect"

/** The number of entries on a page. */
export const pageSize = { minimum: 1, maximum: 100, default: 20 } as const

/** The query parameter `limit` of a list in pages. */
export const Limit = Schema.compose(Schema.String.pipe(Schema.check(Schema.isPattern(/^\d+$/))), Schema.NumberFromString).pipe(
  Schema.check(Schema.isInt()),
  Schema.check(Schema.isBetween({ minimum: pageSize.minimum, maximum: pageSize.maximum })),
  Schema.annotate({ jsonSchema: { type: "integer", ...pageSize, description: "Entries per page." } })
)
