import { Effect, Result, Schema } from "effect"
import { type Fault, Invalid, maxFaults } from "./Errors.ts"
import { step } from "./prompt/Variables.ts"
import { containsToken } from "./request/WithoutToken.ts"
import { faultsOf } from "./SchemaFaults.ts"

const pointer = (path: ReadonlyArray<PropertyKey>): string => path.map((name) => step(String(name))).join("")

const notAField = "is not a field that can be set"

/** A record of named fields. */
type Fields<A, I> = Schema.Codec<A, I> & { readonly fields: Schema.Struct.Fields }

/** Decodes a value, or returns its first `maxFaults` faults. Unknown fields are faults. */
export const decode = <A, I>(schema: Fields<A, I>) => {
  const decodeKnown = Schema.decodeUnknownResult(schema, { errors: "all" })
  // Not left to the schema, which would describe each of them: 3 s and 5.7 MB for 90,000.
  const unknownFields = (input: unknown): ReadonlyArray<Fault> =>
    typeof input === "object" && input !== null
      ? Object.keys(input)
          .filter((name) => !Object.hasOwn(schema.fields, name))
          .slice(0, maxFaults)
          .map((name) => ({ pointer: step(name), detail: notAField }))
      : []
  return (input: unknown): Result.Result<A, ReadonlyArray<Fault>> => {
    const unknown = unknownFields(input)
    const decoded = Result.mapError(decodeKnown(input), ({ issue }) =>
      faultsOf(issue).map(({ detail, path }) => ({ pointer: pointer(path), detail }))
    )
    if (Result.isFailure(decoded)) return Result.fail([...decoded.failure, ...unknown].slice(0, maxFaults))
    return unknown.length > 0 ? Result.fail(unknown) : decoded
  }
}

/** A webhook's token must not be saved where it is shown again: in one of these fields. `instead` says what to do. */
export const tokenFaults = (shown: object, instead: string) => (saved: object) =>
  Object.entries(saved)
    .filter(([field, value]) => Object.hasOwn(shown, field) && containsToken(JSON.stringify(value)))
    .map(
      ([field]): Fault => ({
        pointer: `/${field}`,
        detail: `must not contain a token, such as in a trigger URL; ${instead}`
      })
    )

/** Like `decode`, as an effect. */
export const validate = <A, I>(schema: Fields<A, I>) => {
  const decoded = decode(schema)
  return (input: unknown): Effect.Effect<A, Invalid> =>
    Effect.fromResult(Result.mapError(decoded(input), (faults) => new Invalid({ faults })))
}
