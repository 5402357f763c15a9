import { Effect, Either, ParseResult, Schema } from "effect"
import { type Fault, Invalid } from "../domain/Errors.ts"

/** RFC 6901. */
const pointer = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")

const detail = ({ _tag, message }: ParseResult.ArrayFormatterIssue): string =>
  _tag === "Missing" ? "is required" : _tag === "Unexpected" ? "is not a field that can be set" : message

/** A value as the schema has it, or everything that is wrong with it. Unknown fields are faults. */
export const decode = <A, I>(schema: Schema.Schema<A, I>) => {
  const decodeUnknown = Schema.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })
  return (input: unknown): Either.Either<A, ReadonlyArray<Fault>> =>
    Either.mapLeft(decodeUnknown(input), (error) =>
      ParseResult.ArrayFormatter.formatErrorSync(error)
        // That it might also be null says nothing to a caller who wrote something else.
        .filter((issue) => !issue.message.startsWith("Expected null"))
        .map((issue) => ({ pointer: pointer(issue.path), detail: detail(issue) }))
    )
}

/** As `decode`, as an effect. */
export const validate = <A, I>(schema: Schema.Schema<A, I>) => {
  const decoded = decode(schema)
  return (input: unknown): Effect.Effect<A, Invalid> =>
    Effect.mapError(decoded(input), (faults) => new Invalid({ faults }))
}
