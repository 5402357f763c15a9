import { Effect, Option, Schema } from "effect"
import { InvalidParameter } from "../../domain/Errors.ts"
import { RunId, Uuid } from "../../domain/Id.ts"

/** A place in a history, opaque to its reader: base64url of the values that order the rows. */
export const encodeCursor = (place: number | string): string => Buffer.from(String(place)).toString("base64url")

const decode =
  <A extends number | string>(parse: (text: string) => Option.Option<A>) =>
  (cursor: string | undefined): Effect.Effect<Option.Option<A>, InvalidParameter> => {
    if (cursor === undefined) return Effect.succeedNone
    // A place has one spelling: text that does not encode to itself again was not made here.
    const place = Option.filter(
      parse(Buffer.from(cursor, "base64url").toString()),
      (place) => encodeCursor(place) === cursor
    )
    return Option.isSome(place)
      ? Effect.succeed(place)
      : Effect.fail(new InvalidParameter({ name: "cursor", detail: "is not a cursor from an earlier page" }))
  }

const isUuid = Schema.is(Uuid)

/** The place where a page ends, and before which the next one begins; `undefined`: the newest. */
export const decodeCursor = decode((text) =>
  /^[1-9][0-9]{0,15}$/.test(text) ? Option.some(Number(text)) : Option.none()
)

/** The same for rows ordered by their IDs. */
export const decodeIdCursor = decode(Option.liftPredicate(Schema.is(RunId)))

/** The same where the rows are ordered by a time, in milliseconds, and then by their ids. */
export const decodeTimeCursor = decode((text) =>
  /^[1-9][0-9]{0,15} [0-9a-f-]{36}$/.test(text) && isUuid(text.slice(-36)) ? Option.some(text) : Option.none()
)
