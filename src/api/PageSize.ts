import { Schema, SchemaTransformation } from "effect"
import { Int } from "../domain/SchemaParts.ts"

interface Limits {
  readonly minimum: number
  readonly maximum?: number
  readonly default?: number
  readonly description: string
}

/** A query parameter in digits, which OpenAPI describes as the number that they are. */
export const wholeNumber = (limits: Limits) => {
  const { maximum, minimum } = limits
  return (Schema.Any as Schema.Codec<string>)
    .check(
      Schema.makeFilter((text) => typeof text === "string" && /^\d+$/.test(text), {
        toJsonSchema: () => ({ type: "integer", ...limits })
      })
    )
    .pipe(
      Schema.decodeTo(
        Int.check(
          maximum === undefined ? Schema.isGreaterThanOrEqualTo(minimum) : Schema.isBetween({ minimum, maximum })
        ),
        SchemaTransformation.numberFromString
      )
    )
}

/** The number of entries on a page. */
export const pageSize = { minimum: 1, maximum: 100, default: 20 } as const

/** The query parameter `limit` of a list in pages. */
export const Limit = wholeNumber({ ...pageSize, description: "Entries per page." })
