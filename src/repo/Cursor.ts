import { Effect, Option } from "effect"
import { InvalidParameter } from "../domain/Errors.ts"

/** A place in a history, opaque to its reader: base64url of the number that orders the rows. */
export const encodeCursor = (seq: number): string => Buffer.from(String(seq)).toString("base64url")

/** The place where a page ends, so that the next one begins before it; none: the newest. */
export const decodeCursor = (cursor: string | undefined): Effect.Effect<Option.Option<number>, InvalidParameter> => {
  if (cursor === undefined) return Effect.succeedNone
  const text = Buffer.from(cursor, "base64url").toString()
  // One place has one spelling: what decodes and does not encode to itself was not made here.
  return /^[1-9][0-9]{0,15}$/.test(text) && encodeCursor(Number(text)) === cursor
    ? Effect.succeedSome(Number(text))
    : Effect.fail(new InvalidParameter({ name: "cursor", detail: "is not a cursor from an earlier page" }))
}
